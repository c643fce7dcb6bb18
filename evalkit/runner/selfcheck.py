"""Whether the client keeps up with its own clock: how late it reads beats whose moments it knows.

Another process sends the time every 30 ms; how much later the event loop reads it is what any byte may have to
wait for its stamp. A timer of the loop's own says how late callbacks run. Neither costs a percent of a core.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Self

from evalkit.contracts import ClientDelays
from evalkit.net import beat
from evalkit.net.steady import steady

__all__ = ["Delays", "SelfCheck", "limit_ms", "saturated", "self_checked"]

PERIOD_S = 0.03
TURN_S = 0.2
"""Between two turns of the timer: each wakes the loop, which is dear where a single stream is asked."""
FEWEST = 100
"""Beats, or turns, below which a p99 would be the maximum under another name; with fewer nothing is said."""
LIMIT_MS = 10.0
LIMIT_SHARE = 0.05
"""A delay matters beyond 10 ms, or 5 % of the time to first text where that is more."""
REMEMBERED = 4096
_GROWTH = math.log(1.02)


class Delays:
    """Any number of delays in bounded memory: counts of bins, each 2 % wider than the one before."""

    def __init__(self) -> None:
        self.bins: Counter[int] = Counter()
        self.longest: float | None = None

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Self:
        """The delays that were told as JSON."""
        made = cls()
        made.bins = Counter({int(number): count for number, count in told["bins"].items()})
        made.longest = told["longest"]
        return made

    def told(self) -> dict[str, Any]:
        """The delays as JSON."""
        return {"bins": {str(number): count for number, count in self.bins.items()}, "longest": self.longest}

    def add(self, ms: float) -> None:
        """One more."""
        self.bins[math.ceil(math.log(max(ms, 0.001)) / _GROWTH)] += 1
        self.longest = ms if self.longest is None else max(self.longest, ms)

    def merge(self, other: Delays) -> None:
        """All of the others too."""
        self.bins += other.bins
        longest = [each for each in (self.longest, other.longest) if each is not None]
        self.longest = max(longest) if longest else None

    def quantile(self, share: float) -> float | None:
        """The nearest rank, at most 2 % too long; null where there is none."""
        left = math.ceil(share * self.bins.total())
        for number, count in sorted(self.bins.items()):
            left -= count
            if left <= 0:
                return round(min(math.exp(number * _GROWTH), self.longest or 0.0), 3)
        return None


class SelfCheck(asyncio.Protocol):
    """The beats and timer turns of one event loop, each with its delay."""

    def __init__(self) -> None:
        self.beats = Delays()
        self.lags = Delays()
        self._late: deque[tuple[float, float]] = deque(maxlen=REMEMBERED)
        self._rest = b""
        self._timer: asyncio.TimerHandle | None = None

    def data_received(self, data: bytes) -> None:
        """Called by the loop: beats have come."""
        now = time.perf_counter()
        data = self._rest + data
        whole = len(data) // beat.BEAT.size * beat.BEAT.size
        told, self._rest = data[:whole], data[whole:]
        for (sent_at,) in beat.BEAT.iter_unpack(told):
            self._note(self.beats, now, (now - sent_at) * 1000)

    def late_since(self, moment: float, *, ttft_ms: float | None) -> bool:
        """Whether a delay since then was too long for stamps of that size."""
        limit = limit_ms(ttft_ms)
        return any(at >= moment and ms > limit for at, ms in self._late)

    def turn(self, due: float | None = None) -> None:
        """Note how late the loop's own timer is, from now on until the loop ends or `stop`."""
        now = time.perf_counter()
        if due is not None:
            self._note(self.lags, now, (now - due) * 1000)
        self._timer = asyncio.get_running_loop().call_later(TURN_S, self.turn, now + TURN_S)

    def stop(self) -> None:
        """Set the timer no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _note(self, delays: Delays, now: float, ms: float) -> None:
        delays.add(ms)
        if ms > LIMIT_MS:
            self._late.append((now, ms))

    def merge(self, told: Mapping[str, Any]) -> None:
        """Take over the delays that another process told."""
        self.beats.merge(Delays.of(told["beats"]))
        self.lags.merge(Delays.of(told["lags"]))

    def told(self) -> dict[str, Any]:
        """The delays as JSON, for another process to merge."""
        return {"beats": self.beats.told(), "lags": self.lags.told()}


def saturated(check: SelfCheck, ttfts: Iterable[float]) -> tuple[bool | None, ClientDelays | None]:
    """Whether stamps cannot be trusted, and the delays that say so; null where there are too few to say.

    They cannot where the p99 of the beats or of the timer is beyond 10 ms and beyond 5 % of the median of
    `ttfts`, the times to first text in ms.
    """
    beats, lags = check.beats, check.lags
    if not beats.bins.total():
        return None, None
    found = ClientDelays(
        beats=beats.bins.total(),
        p50_ms=beats.quantile(0.5),
        p99_ms=beats.quantile(0.99),
        max_ms=beats.longest,
        loop_p99_ms=lags.quantile(0.99) if lags.bins.total() >= FEWEST else None,
    )
    if beats.bins.total() < FEWEST:
        return None, found
    ordered = sorted(ttfts)
    limit = limit_ms(ordered[(len(ordered) - 1) // 2] if ordered else None)
    return max(found.p99_ms or 0.0, found.loop_p99_ms or 0.0) > limit, found


def limit_ms(ttft_ms: float | None) -> float:
    """The longest delay that does no harm to times of that size."""
    return max(LIMIT_MS, LIMIT_SHARE * (ttft_ms or 0.0))


@contextlib.asynccontextmanager
async def self_checked() -> AsyncIterator[SelfCheck]:
    """A check that runs as long as this lasts; where no process can be started it has the timer alone."""
    check = SelfCheck()
    mine, theirs = socket.socketpair()
    child = _beating(theirs)
    transport, _ = await asyncio.get_running_loop().create_connection(lambda: check, sock=mine)
    check.turn()
    try:
        with steady():
            yield check
    finally:
        check.stop()
        transport.abort()
        if child is not None:
            child.kill()
            child.wait()


def _beating(out: socket.socket) -> subprocess.Popen[bytes] | None:
    """The process that beats into that socket, which is then its own; null where none can be started."""
    words = [sys.executable, "-I", "-S", beat.__file__, str(out.fileno()), str(PERIOD_S)]
    with out, contextlib.suppress(OSError):
        return subprocess.Popen(  # noqa: S603
            words, pass_fds=[out.fileno()], stderr=subprocess.DEVNULL, start_new_session=True
        )
    return None
