"""Trying again: only what may pass, as late as was asked, all together, every try kept."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from evalkit.contracts import ChannelError
from evalkit.net.gate import Gate
from evalkit.net.retry import persevere, retry_after_s

NOW = datetime(2026, 8, 26, 2, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("30", 30),
        ("1.5", 1.5),
        (" 2 ", 2),
        ("0", None),
        ("-5", None),
        ("nan", None),
        ("inf", None),
        ("１２", None),
        ("garbage", None),
        ("", None),
        (None, None),
        ("Wed, 26 Aug 2026 02:00:20 GMT", 20),
        ("Wed, 26 Aug 2026 10:00:20 +0800", 20),
        ("Wed, 26 Aug 2026 02:00:20 -0000", 20),
        ("Wed, 26 Aug 2026 01:00:00 GMT", None),
        ("99999", 99999),
        ("Wed, 26 Aug 2026 02:00:20 +99999999999999999999", None),
    ],
)
def test_retry_after_is_seconds_or_a_date_ahead(header: str | None, seconds: float | None) -> None:
    assert retry_after_s(header, now=NOW) == seconds


@dataclass
class Tried:
    error: ChannelError | None = None
    retry_after: str | None = None


def status(code: int, retry_after: str | None = None) -> Tried:
    return Tried(ChannelError(kind="http_status", http_status=code), retry_after)


def scripted(*tries: Tried) -> Callable[[], Awaitable[Tried]]:
    left = list(tries)

    async def once() -> Tried:
        return left.pop(0)

    return once


def kinds(tries: list[Tried]) -> list[str | None]:
    return [tried.error and tried.error.kind for tried in tries]


def run(*tries: Tried, retries: int = 2) -> list[Tried]:
    return asyncio.run(persevere(scripted(*tries), retries=retries, gate=Gate()))


@pytest.mark.parametrize(
    "first",
    [
        status(503),
        status(500),
        status(429, "0.01"),
        *(Tried(ChannelError(kind=kind)) for kind in ("connect", "disconnected", "incomplete_read")),
    ],
    ids=lambda tried: f"{tried.error.kind} {tried.error.http_status}",
)
def test_what_may_pass_is_tried_again_and_both_tries_are_kept(first: Tried) -> None:
    assert run(first, Tried()) == [first, Tried()]


@pytest.mark.parametrize(
    "first",
    [
        Tried(),
        status(400),
        status(404),
        *(Tried(ChannelError(kind=kind)) for kind in ("deadline.total", "envelope")),
    ],
    ids=lambda tried: str(tried.error and tried.error.kind),
)
def test_what_will_not_pass_is_not_tried_again(first: Tried) -> None:
    assert run(first) == [first]


def test_the_last_try_stands_when_none_goes_well() -> None:
    assert run(status(503), status(502), status(500), retries=2)[-1].error == status(500).error


def test_no_retries_means_one_try() -> None:
    assert len(run(status(503), retries=0)) == 1


def test_a_wait_beyond_two_minutes_ends_the_trying() -> None:
    tries = run(status(503, "99999"))
    assert kinds(tries) == ["rate_limited"]
    assert tries[0].error
    assert tries[0].error.http_status == 503


def test_the_wait_that_was_asked_for_is_kept() -> None:
    started = time.monotonic()
    assert len(run(status(503, "0.2"), Tried())) == 2
    assert time.monotonic() - started >= 0.2


def test_one_429_keeps_all_workers_of_the_host_out() -> None:
    """50 workers: after the first refusal none asks within the second that the host wants to itself."""
    asked: list[float] = []

    async def main() -> None:
        gate, refused_until = Gate(), 0.0

        async def once() -> Tried:
            nonlocal refused_until
            now = time.monotonic()
            asked.append(now)
            if not refused_until:
                refused_until = now + 1.0
                return status(429, "1")
            return Tried()

        first = asyncio.create_task(persevere(once, retries=2, gate=gate))
        await asyncio.sleep(0)
        await asyncio.gather(first, *(persevere(once, retries=2, gate=gate) for _ in range(49)))

    asyncio.run(main())
    assert len(asked) == 51
    assert min(asked[1:]) - asked[0] >= 1.0
    assert max(asked) - min(asked[1:]) > 0.05, "they came back all at once"
