"""Texts made alike before they are compared: whatever their width and case.

The Chinese comma stays one through all of it, so that `88，100` is two numbers and `88,100` is one.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["CJK", "caseless", "fold"]

CJK = r"[\u2e80-\u9fff\uf900-\ufaff]"
"""A character of Chinese writing, as a regular expression."""

_COMMA = "，"
_SPACE_BESIDE_CJK = re.compile(rf"(?<={CJK})\s+|\s+(?={CJK})")
_LIST_COMMA = re.compile(r"(?<!\d),|,(?!\d)")


def caseless(text: str) -> str:
    """A piece of text in compatibility form (NFKC), without case.

    Folded until nothing changes: folding the case may leave what NFKC would still change.
    """
    if text == _COMMA:
        return text
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def fold(text: str) -> str:
    """The whole text, as `caseless`, without invisible characters and spaces beside Chinese ones.

    All commas become `，` but those between digits, so that a list is told from a grouped number.
    """
    plain = _COMMA.join(map(caseless, text.split(_COMMA)))
    if not plain.isascii():
        plain = "".join(char for char in plain if unicodedata.category(char) != "Cf")
    return _SPACE_BESIDE_CJK.sub("", _LIST_COMMA.sub(_COMMA, plain))
