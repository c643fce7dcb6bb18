"""How well this machine can stamp: the times of known streams held against the moments at which they were sent."""

from __future__ import annotations

import asyncio
import json
import math
from typing import NamedTuple

from evalkit.net.exchange import Exchange, stream
from evalkit.net.timed import timed
from evalkit.net.transport import client
from evalkit.runner.selfcheck import SelfCheck, limit_ms, saturated, self_checked

__all__ = ["Calibration", "calibrate", "calibration"]

_FIRST_MS, _GAP_MS, _EVENTS = 200, 50, 30
_STREAM_S = (_FIRST_MS + _GAP_MS * (_EVENTS - 1)) / 1000
_DEADLINE_S = 60


class Calibration(NamedTuple):
    """What so many streams at once in one process came to; times in milliseconds.

    `error_*` is how far the client's time to first text was from the server's, over `n` answers, `failed` others
    left out. `client_saturated`: such times are not to be trusted, and none are where nothing was answered; null where
    it could not be said.
    """

    streams: int
    n: int
    failed: int
    error_p50_ms: float | None
    error_p99_ms: float | None
    delay_p99_ms: float | None
    client_saturated: bool | None


async def calibrate(streams: int, *, seconds: float) -> Calibration:
    """Hold so many known streams at once for that long, and tell what the client's stamps are worth.

    Each stream is 30 events in 1.65 s, the first after 200 ms, from a server in a process of its own. Saturated is
    a client whose error has a p99 beyond 10 ms, and one that its own check calls so, as it does in a run.
    """
    with timed(_FIRST_MS, _GAP_MS, _EVENTS) as url:
        async with self_checked() as check, client(base_url=url, concurrency=streams) as http:
            end = asyncio.get_running_loop().time() + seconds

            async def one(number: int) -> list[Exchange]:
                await asyncio.sleep(number * _STREAM_S / streams)
                seen: list[Exchange] = []
                while not seen or asyncio.get_running_loop().time() < end:
                    request = http.build_request("GET", "/")
                    seen.append(
                        await stream(
                            http, request, first_event_deadline_s=_DEADLINE_S, total_deadline_s=_DEADLINE_S
                        )
                    )
                return seen

            told = await asyncio.gather(*map(one, range(streams)))
            return calibration(streams, [each for line in told for each in line], check)


def calibration(streams: int, seen: list[Exchange], check: SelfCheck) -> Calibration:
    """What these answers of so many streams at once came to, and the check that watched meanwhile."""
    whole = [each for each in seen if each.error is None and each.events]
    errors = sorted(map(_error_ms, whole))
    p99 = _quantile(errors, 0.99)
    flagged, delays = saturated(check, [_FIRST_MS])
    return Calibration(
        streams=streams,
        n=len(whole),
        failed=len(seen) - len(whole),
        error_p50_ms=_quantile(errors, 0.5),
        error_p99_ms=p99,
        delay_p99_ms=delays.p99_ms if delays else None,
        client_saturated=True if p99 is None or p99 > limit_ms(_FIRST_MS) else flagged,
    )


def _error_ms(seen: Exchange) -> float:
    """How far the client's time to first event is from the one that the server tells in it."""
    event, arrived_at = seen.events[0]
    truth = json.loads(event.data)
    server_s: float = truth["sent_at"] - truth["received_at"]
    return abs(arrived_at - seen.began_at - server_s) * 1000


def _quantile(ordered: list[float], share: float) -> float | None:
    """The value at the nearest rank; null of nothing."""
    return round(ordered[math.ceil(share * len(ordered)) - 1], 3) if ordered else None
