"""A door that a host closes for all who ask it, in whichever process of a run they are.

Each process writes the moment until which it was told to wait into eight bytes of its own, and reads those of all:
without locks, and at once. By themselves the bytes are the gate's; `share` gives a process a seat in a file that
the others have too. Moments are seconds of the monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import mmap
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Gate", "seats", "share"]

_MOMENT = 8
_APART_S = 0.5
"""Those who waited come back one after the other, spread over so many seconds."""

_shared: tuple[memoryview[float], int] | None = None


@contextmanager
def seats(number: int) -> Iterator[int]:
    """The descriptor of a file in which so many processes have a seat each; gone when this ends."""
    with tempfile.TemporaryFile() as file:
        file.truncate(number * _MOMENT)
        yield file.fileno()


def share(fileno: int, seat: int) -> None:
    """Have the gates that this process makes from now on be one with those of all who have a seat in that file."""
    global _shared  # noqa: PLW0603 - a process has one seat, as it has one environment
    _shared = _floats(mmap.mmap(fileno, 0)), seat


class Gate:
    """The door; open at first."""

    def __init__(self) -> None:
        self._moments, self._seat = _shared or (_floats(bytearray(_MOMENT)), 0)

    def close(self, seconds: float) -> None:
        """Keep everybody out for that long; a longer closure stands."""
        self._moments[self._seat] = max(self._moments[self._seat], time.monotonic() + seconds)

    async def wait(self) -> None:
        """Return when the door is open; those who waited come one after the other, not all at once."""
        while (left := max(self._moments) - time.monotonic()) > 0:  # noqa: ASYNC110 - it may be closed for longer
            await asyncio.sleep(left + random.uniform(0, _APART_S))  # noqa: S311 - to spread callers


def _floats(memory: bytearray | mmap.mmap) -> memoryview[float]:
    """The memory as numbers, each read and written whole."""
    return memoryview(memory).cast("d")
