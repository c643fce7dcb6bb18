"""Words in a text, as people read them: whatever their width, case and spacing, and numbers as a whole."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

__all__ = ["NORMALIZERS", "Normalizer", "fold", "spans"]

Normalizer: TypeAlias = Literal["nfkc_casefold", "exact"]

_CJK = r"[\u2e80-\u9fff\uf900-\ufaff]"
_SPACE_BESIDE_CJK = re.compile(rf"(?<={_CJK})\s+|\s+(?={_CJK})")
_LIST_COMMA = re.compile(r"(?<!\d),|,(?!\d)")
_GROUP = re.compile(r"\d{3}(?!\d)")


def fold(text: str) -> str:
    """The text in compatibility form, without case, invisible characters, and spaces beside Chinese ones.

    All commas become `，` but those between digits, so that 88，100 is two numbers and 88,100 is one.
    """
    plain = "，".join(_caseless(part) for part in text.split("，"))
    if not plain.isascii():
        plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return _SPACE_BESIDE_CJK.sub("", _LIST_COMMA.sub("，", plain))


def _caseless(text: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _as_it_is(text: str) -> str:
    return text


NORMALIZERS: dict[Normalizer, Callable[[str], str]] = {"nfkc_casefold": fold, "exact": _as_it_is}
"""How texts are made alike before they are compared."""


def spans(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the word stands in the text, both normalised, as [start, end).

    Where it begins or ends in a digit it stands for a whole number: it is no part of a longer one, nor of a
    decimal (`13` is not in `13.5`, nor `500` in `1,500`).
    """
    before = r"(?<!\d)(?<!\d[.])" if word[:1].isdigit() else ""
    before += r"(?<!\d,)" if _GROUP.match(word) else ""
    after = r"(?!\d|\.\d|,\d{3}(?!\d))" if word[-1:].isdigit() else ""
    for match in re.finditer(before + re.escape(word) + after, text):
        yield match.span()
