"""The client's check of itself: what counts as too late, what is flagged, and that nothing is said without beats."""

from __future__ import annotations

import asyncio
import math
import random
import time
from pathlib import Path

import pytest

from evalkit import runs
from evalkit.contracts import Case, ClientDelays, Manifest, Observation, Timings
from evalkit.engines.local import local
from evalkit.net.beat import BEAT
from evalkit.records import load
from evalkit.report.digest import Run, digest
from evalkit.report.notes import notes
from evalkit.runner import Plan, run
from evalkit.runner.selfcheck import Delays, SelfCheck, saturated, self_checked


def beaten(*delays_ms: float) -> SelfCheck:
    """A check that has read beats so late."""
    check = SelfCheck()
    for ms in delays_ms:
        check.data_received(BEAT.pack(time.perf_counter() - ms / 1000))
    return check


def test_quantiles_are_nearest_ranks_within_two_percent() -> None:
    """Golden values: the nearest rank, computed from the sorted list."""
    maker = random.Random(7)  # noqa: S311 - test data
    drawn = [maker.expovariate(0.2) + 0.01 for _ in range(1000)]
    delays = Delays()
    for ms in drawn:
        delays.add(ms)
    for share in (0.01, 0.5, 0.99, 1.0):
        exact = sorted(drawn)[math.ceil(share * 1000) - 1]
        assert exact <= (delays.quantile(share) or 0) + 0.001 <= exact * 1.02 + 0.002
    assert Delays().quantile(0.5) is None


def test_delays_told_to_another_process_are_the_same() -> None:
    check, other = beaten(1, 2, 300), SelfCheck()
    other.merge(check.told())
    other.merge(beaten(5).told())
    assert other.beats.bins.total() == 4
    assert other.beats.longest == check.beats.longest
    assert other.lags.quantile(0.5) is None


@pytest.mark.parametrize(
    ("delays", "ttfts", "found"),
    [
        ([1] * 200, [50], False),
        ([1] * 190 + [100] * 10, [50], True),
        ([1] * 190 + [100] * 10, [3000] * 3, False),
        ([1] * 190 + [100] * 10, [1000, 1000, 9000], True),
        ([1] * 199 + [100], [50], False),
        ([1] * 190 + [100] * 10, [], True),
        ([100] * 99, [50], None),
        ([], [50], None),
    ],
    ids=[
        "quick",
        "late",
        "late for long answers",
        "median counts",
        "one in 200",
        "no texts",
        "too few",
        "none",
    ],
)
def test_a_client_is_saturated_by_its_p99(
    delays: list[float],
    ttfts: list[float],
    found: bool | None,  # noqa: FBT001
) -> None:
    """Limit: 10 ms, or 5 % of the median time to first text where that is more; 100 beats at least."""
    judged, told = saturated(beaten(*delays), ttfts)
    assert judged is found
    assert (told is None) is (not delays)


def test_a_beat_in_pieces_is_one_beat() -> None:
    check, data = SelfCheck(), BEAT.pack(time.perf_counter())
    for at in range(len(data)):
        check.data_received(data[at : at + 1])
    assert check.beats.bins.total() == 1


def test_a_block_of_the_loop_is_seen_by_beats_and_timer() -> None:
    async def main() -> tuple[SelfCheck, bool, bool, bool]:
        async with self_checked() as check:
            await asyncio.sleep(0.3)
            before = time.perf_counter()
            time.sleep(0.3)  # noqa: ASYNC251 - the block
            await asyncio.sleep(0.1)
            after = time.perf_counter()
            return (
                check,
                check.late_since(before, ttft_ms=None),
                check.late_since(before, ttft_ms=60_000),
                check.late_since(after + 10, ttft_ms=None),
            )

    check, *late = asyncio.run(main())
    assert late == [True, False, False]
    assert (check.beats.longest or 0) > 200
    assert (check.lags.longest or 0) > 90  # a turn is due every 200 ms: a third of the block at least
    assert check.beats.bins.total() > 10


def go(place: Path, *, block_s: float, count: int) -> Manifest:
    async def ask(case: Case) -> Observation:
        await asyncio.sleep(0.02)
        time.sleep(block_s)  # noqa: ASYNC251 - the block
        return Observation(
            response="好", ttft_ms=20.0, answer_timings=Timings(first_text_ms=20.0, end_ms=20.0)
        )

    cases = [Case(sample_id=str(n), query="q") for n in range(count)]
    return asyncio.run(run(cases, ask, Plan(runs_dir=place, run_id="r", concurrency=2)))


def test_a_run_whose_client_is_busy_is_flagged_and_says_so(tmp_path: Path) -> None:
    """Blocks of 0.2 s: every record is asked under one, and the report has a note."""
    manifest = go(tmp_path, block_s=0.2, count=16)
    assert manifest.client_saturated is True
    assert manifest.client_delays
    assert (manifest.client_delays.p99_ms or 0) > 100
    assert runs.manifest(tmp_path / "r.jsonl") == manifest
    records = load(tmp_path / "r.jsonl")
    assert sum("client_saturated" in record.flags for record in records) >= 12
    assert any(
        "too busy to trust its times" in note
        for note in notes(digest(Run("r", records, local(records), manifest)))
    )


def test_a_short_run_says_nothing_of_itself(tmp_path: Path) -> None:
    manifest = go(tmp_path, block_s=0, count=2)
    assert manifest.client_saturated is None
    assert manifest.client_delays is None or manifest.client_delays.beats < 100


def test_what_a_resumed_run_finds_does_not_wash_away_what_was_found_before(tmp_path: Path) -> None:
    go(tmp_path, block_s=0, count=2)
    before = runs.manifest(tmp_path / "r.jsonl")
    assert before
    told = {"client_saturated": True, "client_delays": ClientDelays(beats=200, p99_ms=90.0)}
    runs.save(before.model_copy(update=told), tmp_path / "r.meta.json")

    async def ask(case: Case) -> Observation:
        return Observation(response="好")

    cases = [Case(sample_id=str(n), query="q") for n in range(2)]
    after = asyncio.run(run(cases, ask, Plan(runs_dir=tmp_path, run_id="r", concurrency=2, resume=True)))
    assert after.client_saturated is True
    assert after.client_delays == told["client_delays"]
