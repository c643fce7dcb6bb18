"""Values as they stand in texts: whole words and whole numbers, spaces beside Chinese characters or not."""

from __future__ import annotations

import functools
import re

from evalkit.finding.folding import CJK
from evalkit.finding.said import plain

__all__ = ["any_of", "literal", "whole"]

_LOOSE = re.compile(
    rf"(?<={CJK})\s*(?=[a-z0-9])|(?<=[a-z0-9])\s*(?={CJK})|(?P<gap>(?<={CJK})\s+(?={CJK}))|(?P<space>\s+)|(?P<comma>[,，])"
)
_BETWEEN = {"space": r"\s+", "comma": r"[,，]", "gap": r"[\s,，、;；]*"}
_LIMIT = r"(?!\s*(?:分|元|块|小时|天)?(?:钱)?(?:以上|以下|以内|之内|左右|or (?:higher|more|above)))"


def literal(value: object) -> str:
    """A value as it stands in plain text; empty for what has no one way to be written (lists, truth values)."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return plain(str(value)).text.strip()


@functools.lru_cache(maxsize=16384)
def whole(text: str) -> re.Pattern[str]:
    """A pattern for a non-empty literal in plain text; no part of a longer word or number.

    `a3` is not in `a3s`, `13` not in `13.5`, `500` not in `1,500`, `4分` not in `4分以上`. Spaces between
    Chinese and Latin characters are free.
    """
    before = r"(?<![a-z0-9])" if _is_ascii_word(text[0]) else ""
    before += r"(?<!\d[.,])" if text[0].isdigit() else r"(?<!\d)" if text[0].isdecimal() else ""
    after = r"(?![a-z0-9])" if _is_ascii_word(text[-1]) else ""
    after += r"(?!\.\d|,\d{3}(?!\d))" if text[-1].isdigit() else ""
    after += _LIMIT if any(character.isdigit() for character in text) else ""
    return re.compile(before + _loose(text) + after)


@functools.lru_cache(maxsize=256)
def any_of(values: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for any of some values, the longest that fits; never matches where there is none."""
    known = sorted({text for text in map(literal, values) if text}, key=lambda text: (-len(text), text))
    return re.compile("|".join(f"(?:{whole(text).pattern})" for text in known) or r"(?!)")


def _is_ascii_word(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _loose(text: str) -> str:
    """The text escaped, with spaces where they may be."""
    parts, end = [], 0
    for match in _LOOSE.finditer(text):
        parts.append(re.escape(text[end : match.start()]))
        parts.append(_BETWEEN.get(match.lastgroup or "", r"\s*"))
        end = match.end()
    return "".join([*parts, re.escape(text[end:])])
