"""Words that no answer of a customer service should have: a list of our own, matched literally.

The list errs on the side of silence: words that a shop or a clinic needs are not on it. That nothing of it
stands in a text says little about the text.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from typing import NamedTuple

from evalkit.finding.folding import fold
from evalkit.rules.params import Severity
from evalkit.rules.safety.hits import Hit

__all__ = ["BLOCKED", "bad_words", "categories", "layer", "needed"]

BLOCKED = "blocked"
"""The category of words that a rule adds to the list."""


class _Word(NamedTuple):
    text: str
    category: str
    severity: Severity


class _List(NamedTuple):
    version: int
    words: tuple[_Word, ...]
    allowed: tuple[str, ...]
    needed: frozenset[str]


@functools.cache
def _list() -> _List:
    text = resources.files("evalkit.rules.safety").joinpath("bad_words.json").read_text(encoding="utf-8")
    told = json.loads(text)
    words = (
        _Word(fold(word), category, severity)
        for category, kinds in told["categories"].items()
        for severity, listed in kinds["words"].items()
        for word in listed
    )
    allowed, needed = (tuple(fold(phrase) for phrase in told[name]) for name in ("allowed", "needed"))
    return _List(told["version"], tuple(words), allowed, frozenset(needed))


def layer() -> str:
    """The layer's name, with the version of its list."""
    return f"words:{_list().version}"


def categories() -> frozenset[str]:
    """The categories of the list."""
    return frozenset(word.category for word in _list().words) | {BLOCKED}


def needed() -> frozenset[str]:
    """Words that other lists have, and that a shop, a clinic or a school cannot do without; folded."""
    return _list().needed


def bad_words(text: str, *, allow: Sequence[str] = (), block: Sequence[str] = ()) -> list[Hit]:
    """The words of the list, and of `block`, that the text has, each once, in order of the list.

    A word within a phrase of `allow`, or of the list's own exceptions, is none. Latin words match whole.
    """
    plain = fold(text)
    phrases = (*_list().allowed, *(fold(phrase) for phrase in allow))
    free = [span for phrase in phrases for span in _places(phrase, plain)]
    banned = [*_list().words, *(_Word(fold(word), BLOCKED, "high") for word in block)]
    return [
        Hit(layer(), word.category, word.severity, word.text)
        for word in banned
        if any(not _within(span, free) for span in _places(word.text, plain))
    ]


def _places(word: str, text: str) -> Iterator[tuple[int, int]]:
    if word not in text:
        return
    edge = r"(?<![a-z0-9])", r"(?![a-z0-9])"
    before, after = (edge[0] if word[0].isascii() else "", edge[1] if word[-1].isascii() else "")
    for match in re.finditer(before + re.escape(word) + after, text):
        yield match.span()


def _within(span: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= span[0] and span[1] <= end for start, end in spans)
