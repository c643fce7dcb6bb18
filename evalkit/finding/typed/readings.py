"""The shape of all readers of typed values: plain text and a day in, places and canonical forms out."""

from __future__ import annotations

import re
from bisect import bisect, insort
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import NamedTuple, TypeAlias

__all__ = ["Reader", "Reading", "Taken", "apart", "each"]


class Reading(NamedTuple):
    """A typed value in a plain text: its place [start, end), and its one canonical writing."""

    start: int
    end: int
    value: str


Reader: TypeAlias = Callable[[str, "date | None"], Iterator[Reading]]
"""A plain text and the day on which it was said to the values in it, from left to right."""


def each(
    pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], str | None]
) -> Iterator[Reading]:
    """The matches that can be read."""
    for match in pattern.finditer(text):
        value = read(match)
        if value is not None:
            yield Reading(match.start(), match.end(), value)


class Taken:
    """Places of a text that do not overlap; asking for one takes the logarithm of their number."""

    def __init__(self) -> None:
        """Nothing is taken."""
        self._places: list[tuple[int, int]] = []

    def holds(self, start: int, end: int) -> bool:
        """Whether part of [start, end) is taken."""
        place = bisect(self._places, (start, end))
        before = self._places[place - 1][1] if place else 0
        after = self._places[place][0] if place < len(self._places) else end
        return before > start or after < end

    def take(self, start: int, end: int) -> bool:
        """Take [start, end) where all of it is free; whether it was."""
        free = not self.holds(start, end)
        if free:
            insort(self._places, (start, end))
        return free


def apart(readings: Iterable[Reading]) -> list[Reading]:
    """Readings that do not overlap, from left to right: those that come first win."""
    taken = Taken()
    return sorted(reading for reading in readings if taken.take(reading.start, reading.end))
