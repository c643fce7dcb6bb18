"""What was said in a dialog, as it is compared: after folding, each place traced back."""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterator
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord
from evalkit.finding.folding import caseless

__all__ = ["Plain", "Said", "plain", "said"]

_Span = tuple[int, int]
_Origin = tuple[_Span, ...]
_folded = functools.lru_cache(maxsize=8192)(caseless)


class Plain(NamedTuple):
    """A text as it is compared: character i comes from `origin[i]`, from place i where `origin` is null."""

    text: str
    origin: _Origin | None


class Said(NamedTuple):
    """One text of a dialog, and its `plain` form."""

    turn: int
    source: Literal["user", "agent"]
    text: str
    plain: str
    origin: _Origin | None

    def span(self, start: int, end: int) -> _Span | None:
        """Where `plain[start:end]` stands in `text`, as [start, end).

        Null for nothing, and for part of a character: `㌔` is `キロ`, but does not hold a `キ`.
        """
        if start >= end:
            return None
        if self.origin is None:
            return start, end
        cuts_in = start > 0 and self.origin[start - 1] == self.origin[start]
        cuts_off = end < len(self.origin) and self.origin[end] == self.origin[end - 1]
        return None if cuts_in or cuts_off else (self.origin[start][0], self.origin[end - 1][1])


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
    user = [Said(turn, "user", text, *plain(text)) for turn, text in enumerate(before)]
    return [*user, *_exchange(len(before), last, record.response)]


def _exchange(turn: int, sent: str, reply: str) -> Iterator[Said]:
    yield Said(turn, "user", sent, *plain(sent))
    yield Said(turn, "agent", reply, *plain(reply))


@functools.lru_cache(maxsize=256)
def plain(text: str) -> Plain:
    """The text as it is compared. The last few are remembered: one record's texts are asked for repeatedly."""
    table = {character: _folded(character) for character in set(text)}
    if all(len(part) == 1 and not unicodedata.combining(whole) for whole, part in table.items()):
        return Plain("".join([table[character] for character in text]), None)
    return _traced(text)


def _traced(text: str) -> Plain:
    """As `plain`, character by character with its accents, each with its place."""
    parts: list[str] = []
    origin: list[_Span] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and unicodedata.combining(text[end]):
            continue
        part = _folded(text[start:end])
        parts.append(part)
        origin += [(start, end)] * len(part)
        start = end
    return Plain("".join(parts), tuple(origin))
