"""What was said in a dialog, and how texts are compared: after NFKC and case folding, numbers as a whole."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord

__all__ = ["Said", "literal", "said", "whole"]

_Span = tuple[int, int]


class Said(NamedTuple):
    """One text of a dialog, and its `plain` form, in which character i comes from `text[slice(*origin[i])]`."""

    turn: int
    source: Literal["user", "agent"]
    text: str
    plain: str
    origin: list[_Span]

    def spans(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """Where in `text` the pattern's matches in `plain` stand, as [start, end).

        A match of nothing, or of part of a character, is none: `㌔` is `キロ`, but does not hold a `キ`.
        """
        for match in pattern.finditer(self.plain):
            before, inside, after = self._around(match)
            if inside and before != inside[0] and after != inside[-1]:
                yield inside[0][0], inside[-1][1]

    def _around(self, match: re.Match[str]) -> tuple[_Span | None, list[_Span], _Span | None]:
        start, end = match.span()
        before = self.origin[start - 1] if start else None
        after = self.origin[end] if end < len(self.origin) else None
        return before, self.origin[start:end], after


def said(record: EvalRecord) -> list[Said] | None:
    """Everything that was said, in order; null where no answer was recorded.

    Without a dialog that is what the user said, then the answer, which belongs to the last turn.
    """
    if record.dialog:
        turns = enumerate(record.dialog)
        return [
            text
            for turn, exchange in turns
            for text in _exchange(turn, exchange.sent_message, exchange.reply)
        ]
    if record.response is None:
        return None
    *before, last = record.user_turns
    user = [Said(turn, "user", text, *_plain(text)) for turn, text in enumerate(before)]
    return [*user, *_exchange(len(before), last, record.response)]


def _exchange(turn: int, sent: str, reply: str) -> Iterator[Said]:
    yield Said(turn, "user", sent, *_plain(sent))
    yield Said(turn, "agent", reply, *_plain(reply))


def _plain(text: str) -> tuple[str, list[_Span]]:
    """The text as it is compared, and the span of the original behind each of its characters."""
    parts: list[str] = []
    origin: list[_Span] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and unicodedata.combining(text[end]):
            continue
        part = unicodedata.normalize("NFKC", text[start:end]).casefold()
        parts.append(part)
        origin += [(start, end)] * len(part)
        start = end
    return "".join(parts), origin


def literal(value: object) -> str:
    """A value as it stands in plain text; empty for what has no one way to be written (lists, truth values)."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return ""
    return _plain(str(value))[0].strip()


def whole(text: str) -> re.Pattern[str]:
    """A pattern for a non-empty literal; where it ends in a digit it is no part of a longer number."""
    before = r"(?<!\d)" if text[0].isdigit() else ""
    after = r"(?!\d)" if text[-1].isdigit() else ""
    return re.compile(before + re.escape(text) + after)
