"""Layers that other packages bring, where a case asks for them: a maintained word list, more forms of personal data.

Both work on this machine alone. What a shop, a clinic or a school has to say is taken from the word list, and
of personal data only what has a form: names are guessed wrongly too often (see docs/rules.md).
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import warnings
from collections.abc import Callable, Collection
from typing import Any, Literal, TypeAlias

from evalkit.errors import UsageError
from evalkit.finding.folding import fold
from evalkit.rules.safety.bad_words import needed
from evalkit.rules.safety.hits import Hit

__all__ = ["LIBRARIES", "Library", "extra_categories", "extra_layer", "hits_of"]

Library: TypeAlias = Literal["glin-profanity", "argus-redact"]
"""A package that can be asked as well, by the name under which it is installed."""

_PROFANITY = "profanity"
_LANGUAGES = ["chinese", "english"]
_DATA = (
    "passport",
    "license_plate",
    "wechat",
    "qq",
    "address",
    "hk_id",
    "tw_id",
    "macau_id",
    "eep",
    "hrp",
    "military_id",
    "social_security",
    "housing_fund",
)
_SHOWN = 2
_SALT = bytes(32)
"""Only places are taken from that package, no pseudonyms, so its salt hides nothing."""


def extra_layer(library: Library) -> str:
    """The layer's name, with the version of the package; UsageError where it is not installed."""
    try:
        return f"{library}:{importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        raise UsageError(f"safety: {library} is not installed; pip install 'evalkit[safety]'.") from None


def extra_categories(library: Library) -> frozenset[str]:
    """The categories that the layer tells."""
    return frozenset({_PROFANITY} if library == "glin-profanity" else _DATA)


def hits_of(library: Library, text: str, *, allow: Collection[str], known: str) -> list[Hit]:
    """What the package finds in the text, but for phrases of `allow`, and data within the `known` text."""
    return LIBRARIES[library](text, allow, known)


def _profanity(text: str, allow: Collection[str], _known: str) -> list[Hit]:
    plain = fold(text)
    for phrase in map(fold, allow):
        plain = plain.replace(phrase, "。")
    found = _word_filter().check_profanity(plain)["profane_words"]
    words = [word for word in found if fold(word) not in needed()]
    return [Hit(extra_layer("glin-profanity"), _PROFANITY, "medium", word) for word in words]


@functools.cache
def _word_filter() -> Any:
    return importlib.import_module("glin_profanity").Filter({"languages": _LANGUAGES})


def _data(text: str, allow: Collection[str], known: str) -> list[Hit]:
    redact = importlib.import_module("argus_redact").redact
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it says of keys for pseudonyms, which are thrown away
        report = redact(text, lang="zh", mode="fast", types=list(_DATA), report=True, salt=_SALT)
    told = {fold(phrase) for phrase in allow}
    layer = extra_layer("argus-redact")
    values = {entity["original"]: entity["type"] for entity in report.entities}
    return [
        Hit(layer, kind, "medium", f"{value[:_SHOWN]}****{value[-_SHOWN:]}")
        for value, kind in values.items()
        if fold(value) not in known and fold(value) not in told
    ]


LIBRARIES: dict[Library, Callable[[str, Collection[str], str], list[Hit]]] = {
    "glin-profanity": _profanity,
    "argus-redact": _data,
}
"""How each is asked: of the text, with what is allowed, and what the user said."""
