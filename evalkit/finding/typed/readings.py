"""The shape of all readers of typed values: plain text and a day in, places and canonical forms out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from typing import NamedTuple, TypeAlias

__all__ = ["Reader", "Reading", "apart", "each"]


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


def apart(readings: Iterable[Reading]) -> list[Reading]:
    """Readings that do not overlap, from left to right: those that come first win."""
    kept: list[Reading] = []
    for reading in readings:
        if all(reading.end <= other.start or other.end <= reading.start for other in kept):
            kept.append(reading)
    return sorted(kept)
