"""Adaptive concurrency: one more a round of good samples, half at a sign of overload, one cut a round."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import Attempt, Case, ChannelError, Observation
from evalkit.errors import UsageError
from evalkit.registry import Spec, bind
from evalkit.runner import Plan, run
from evalkit.runner.pacing import FIRST, Pace, overloaded

GOOD = Observation(response="好")


def failed(kind: str, status: int | None = None) -> Observation:
    return Observation(answer_status="error", answer_error=ChannelError(kind=kind, http_status=status))


def tried(kind: str, status: int | None = None) -> Observation:
    """Well in the end, after a try that was not."""
    first = Attempt(status="error", error=ChannelError(kind=kind, http_status=status))
    return Observation(response="好", evidence_attempts=(first, Attempt(status="ok")))


@pytest.mark.parametrize(
    ("seen", "sign"),
    [
        (GOOD, False),
        (failed("http_status", 429), True),
        (failed("http_status", 503), True),
        (failed("rate_limited"), True),
        (failed("deadline.total"), True),
        (tried("deadline.first_event"), True),
        (tried("http_status", 429), True),
        (failed("http_status", 500), False),
        (failed("connect"), False),
        (failed("target_error"), False),
    ],
)
def test_signs_of_overload_are_429_503_and_deadlines_in_any_try(seen: Observation, *, sign: bool) -> None:
    assert overloaded(seen) is sign


def limits(most: int, *seen: Observation, adaptive: bool = True) -> list[int]:
    """The limit after each sample, asked one after the other."""

    async def main() -> list[int]:
        pace, found = Pace(most, adaptive=adaptive), []
        for each in seen:
            async with pace.slot() as heed:
                heed(each)
            found.append(pace.limit)
        return found

    return asyncio.run(main())


def test_a_round_of_good_samples_allows_one_more_up_to_the_most() -> None:
    found = limits(6, *[GOOD] * 20)
    assert found[:4] == [4, 4, 4, 5]
    assert found[4:9] == [5, 5, 5, 5, 6]
    assert found[-1] == 6
    assert limits(2, GOOD, GOOD, GOOD)[-1] == 2


def test_overload_halves_down_to_one_and_begins_the_round_anew() -> None:
    busy = failed("http_status", 429)
    assert limits(64, busy, busy, busy, GOOD, GOOD, GOOD) == [2, 1, 1, 2, 2, 3]
    assert limits(64, GOOD, GOOD, GOOD, busy, GOOD, GOOD) == [4, 4, 4, 2, 2, 3]


def test_samples_of_the_old_pace_cut_it_once() -> None:
    async def main() -> int:
        pace = Pace(64, adaptive=True)
        slots = [pace.slot() for _ in range(FIRST)]
        heeds = [await slot.__aenter__() for slot in slots]
        for slot, heed in zip(slots, heeds, strict=True):
            heed(failed("http_status", 503))
            await slot.__aexit__(None, None, None)
        return pace.limit

    assert asyncio.run(main()) == FIRST // 2


def test_a_number_stays_what_it_is() -> None:
    assert set(limits(5, GOOD, failed("http_status", 429), adaptive=False)) == {5}


def test_a_service_that_bears_three_is_asked_by_few_and_every_sample_comes(
    tmp_path: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a number of 16 at once most requests are refused; adaptively few are, and all is answered."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    refused = {True: 0, False: 0}
    frame = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'

    async def main(*, adaptive: bool) -> int:
        busy = 0

        async def answer(_request: Any, peer: Any) -> None:
            nonlocal busy
            if busy >= 3:
                refused[adaptive] += 1
                return await peer.send(loopback.json({}, status=429))
            busy += 1
            await asyncio.sleep(0.05)
            busy -= 1
            return await peer.send(loopback.STREAM, loopback.piece(frame), loopback.END)

        async with loopback(answer) as server:
            bound = bind("target", Spec("openai", {"model": "m", "base_url": server.url, "retries": 9}))
            cases = [Case(sample_id=str(n), query="q") for n in range(40)]
            plan = Plan(runs_dir=tmp_path / str(adaptive), concurrency=16, adaptive=adaptive)
            return (await run(cases, bound, plan)).answer_ok

    assert asyncio.run(main(adaptive=True)) == 40
    assert asyncio.run(main(adaptive=False)) == 40
    assert refused[True] < refused[False]


def test_an_adaptive_pace_and_a_rate_exclude_each_other() -> None:
    with pytest.raises(UsageError, match="adaptive"):
        Plan(adaptive=True, rate=5)


def test_whoever_waits_for_a_slot_when_the_run_is_stopped_is_not_asked(tmp_path: Path) -> None:
    asked: list[str] = []

    async def main() -> None:
        async def ask(case: Case) -> Observation:
            asked.append(case.sample_id)
            if len(asked) == FIRST:
                import os
                import signal

                os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(0.05)
            return GOOD

        cases = [Case(sample_id=str(n), query="q") for n in range(40)]
        manifest = await run(cases, ask, Plan(runs_dir=tmp_path, concurrency=16, adaptive=True))
        assert (manifest.state, manifest.recorded) == ("interrupted", FIRST)

    asyncio.run(main())
    assert len(asked) == FIRST
