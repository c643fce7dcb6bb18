"""How many samples are in flight: as many as was said, or as many as the target bears.

The rule of the latter, as in TCP: it begins with 4. When as many samples in a row as are allowed at once went well,
one more is allowed, up to the most. A sample that met 429, 503 or a deadline halves the number, down to 1; those
that were begun before such a cut do not cut again, whatever they meet, because they were asked at the old pace.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus

from evalkit.contracts import ChannelError, Observation

__all__ = ["FIRST", "MOST", "Pace", "overloaded"]

FIRST = 4
"""How many are in flight at first."""

MOST = 64
"""How many may be in flight where nobody said how many."""

_THROTTLED = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


def overloaded(seen: Observation) -> bool:
    """Whether any try of any channel met a sign of overload."""
    tries = (*seen.answer_attempts, *seen.evidence_attempts)
    errors = (seen.answer_error, seen.evidence_error, *(each.error for each in tries))
    return any(error is not None and _is_sign(error) for error in errors)


def _is_sign(error: ChannelError) -> bool:
    throttled = error.kind == "rate_limited" or error.http_status in _THROTTLED
    return throttled or error.kind.startswith("deadline.")


class Pace:
    """The slots of a run; `limit` is how many there are now."""

    def __init__(self, most: int, *, adaptive: bool) -> None:
        self.limit = min(FIRST, most) if adaptive else most
        self._most = most
        self._adaptive = adaptive
        self._in_flight = 0
        self._good = 0
        self._cuts = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[_Heed]:
        """Wait for a slot and hold it; whoever holds it tells what was seen."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._in_flight < self.limit)
            self._in_flight += 1
        try:
            yield _Heed(self, self._cuts)
        finally:
            self._in_flight -= 1
            async with self._changed:
                self._changed.notify_all()

    def heed(self, seen: Observation, *, cuts: int) -> None:
        """Let one sample that began after so many cuts change the limit."""
        if not self._adaptive:
            return
        if overloaded(seen):
            if cuts == self._cuts:
                self.limit = max(1, self.limit // 2)
                self._cuts += 1
            self._good = 0
            return
        self._good += 1
        if self._good >= self.limit < self._most:
            self.limit, self._good = self.limit + 1, 0


class _Heed:
    """What a slot tells its pace."""

    def __init__(self, pace: Pace, cuts: int) -> None:
        self._pace = pace
        self._cuts = cuts

    def __call__(self, seen: Observation) -> None:
        """Tell what was seen."""
        self._pace.heed(seen, cuts=self._cuts)
