"""Latencies: golden values, the row form, percentiles, deadlines, published measurements."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord
from evalkit.contracts import Attempt, ChannelError, Timings, Turn, Usage
from evalkit.metrics import latency

TABLE = Path(__file__).parents[1] / "golden" / "latency.jsonl"
GOLDEN = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]

times = st.none() | st.sampled_from((0.0, 1.5, 40.0, 80.25, 300.0))
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1")),
            "ttft_ms": times,
            "total_ms": times,
            "answer_status": st.sampled_from(("ok", "ok", "error", "skipped")),
            "answer_error": st.none()
            | st.builds(ChannelError, kind=st.sampled_from(("deadline.total", "http_status"))),
            "answer_timings": st.none()
            | st.builds(
                Timings,
                first_event_ms=times,
                first_reasoning_ms=times,
                first_text_ms=times,
                last_text_ms=times,
                end_ms=times,
                text_chunks=st.none() | st.integers(0, 4),
            ),
            "evidence_status": st.sampled_from(("ok", "error")),
            "evidence_timings": st.none() | st.builds(Timings, end_ms=times),
            "usage": st.none() | st.builds(Usage, completion_tokens=st.none() | st.integers(0, 4)),
            "dialog": st.lists(st.just(Turn()), max_size=2).map(tuple),
            "from_cache": st.sampled_from((False, False, True)),
            "answer_attempts": st.lists(st.builds(Attempt, status=st.just("ok")), max_size=2).map(tuple),
            "evidence_attempts": st.lists(st.builds(Attempt, status=st.just("ok")), max_size=2).map(tuple),
        }
    ),
    max_size=10,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def answer(read: Callable[[EvalRecord], float | None]) -> Callable[[EvalRecord], float | None]:
    def told(record: EvalRecord) -> float | None:
        again = len(record.answer_attempts) > 1
        return None if record.from_cache or again or record.answer_status != "ok" else read(record)

    return told


def timings(record: EvalRecord) -> Timings:
    return record.answer_timings or Timings()


def icl(record: EvalRecord) -> float | None:
    seen = timings(record)
    if seen.first_text_ms is None or seen.last_text_ms is None or (seen.text_chunks or 0) < 2:
        return None
    span = seen.last_text_ms - seen.first_text_ms
    return span / (seen.text_chunks - 1) if span >= 0 else None


def tpot(record: EvalRecord) -> float | None:
    seen, tokens = timings(record), (record.usage or Usage()).completion_tokens or 0
    starts = [start for start in (seen.first_text_ms, seen.first_reasoning_ms) if start is not None]
    if not starts or seen.last_text_ms is None or tokens < 2 or len(record.dialog) > 1:
        return None
    span = seen.last_text_ms - min(starts)
    return span / (tokens - 1) if span > 0 else None


def evidence(record: EvalRecord) -> float | None:
    if record.from_cache or record.evidence_status != "ok" or record.evidence_timings is None:
        return None
    if len(record.evidence_attempts) > 1:
        return None
    return record.evidence_timings.end_ms


ROWS = {
    "ttft_ms": answer(lambda record: record.ttft_ms),
    "first_event_ms": answer(lambda record: timings(record).first_event_ms),
    "total_ms": answer(lambda record: record.total_ms),
    "icl_ms": answer(icl),
    "tpot_ms": answer(tpot),
    "evidence_ms": evidence,
}


@given(records=runs)
def test_columns_equal_rows(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    """Whatever the run, every latency is what its row form says."""
    agree(latency.compute(records), records, ROWS)


@given(records=runs, dice=st.randoms(use_true_random=False))
def test_the_parts_add_up(records: list[EvalRecord], dice: random.Random) -> None:
    """Counted, missing and cut off make up the run; the order of the records changes nothing."""
    found = latency.quantiles(records)
    means = {result.name: result.overall for result in latency.compute(records)}
    for row in found:
        assert row.n_total == len(records) == row.n_counted + row.n_missing + row.n_censored
        assert row.mean == means[row.name]
        assert row.n_counted == (means[row.name].n_counted if means[row.name] is not None else 0)
        known = [
            value for value in (row.min, row.p50, row.p90, row.p95, row.p99, row.max) if value is not None
        ]
        assert known == sorted(known)
    assert latency.quantiles(dice.sample(records, len(records))) == found


@given(runs, st.integers(1, 5))
def test_pieces_have_the_distributions_of_the_whole(records: list[EvalRecord], size: int) -> None:
    pieces = [records[start : start + size] for start in range(0, len(records), size)]
    found = latency.distributions(lambda: map(latency.observations, pieces), n=len(records))
    wanted = latency.quantiles(records) if records else []
    assert found == wanted


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["id"])
def test_golden(case: dict[str, Any]) -> None:
    """What one record with these timings counts as."""
    assert case["source"]
    fields = {name: value for name, value in case.items() if name not in {"id", "metric", "value", "source"}}
    results = {result.name: result for result in latency.compute([EvalRecord(sample_id="1", **fields)])}
    assert results[case["metric"]].overall == case["value"]


def test_marks_of_the_results() -> None:
    """Milliseconds: better low, neither rates nor percent, null over nothing."""
    results = latency.compute([])
    marks = {(result.is_rate, result.is_pct, result.lower_is_better, result.overall) for result in results}
    assert marks == {(False, False, True, None)}


def run(values: list[float | None]) -> list[EvalRecord]:
    return [
        EvalRecord(sample_id=str(place), ttft_ms=value, total_ms=value) for place, value in enumerate(values)
    ]


def quantiles(records: list[EvalRecord], name: str = "ttft_ms") -> latency.Latency:
    return next(row for row in latency.quantiles(records) if row.name == name)


def test_missing_is_not_zero() -> None:
    """20 cases, 5 without text: the mean is over 15, and 5 are missing."""
    found = quantiles(run([*([100.0] * 15), *([None] * 5)]))
    assert (found.n_total, found.n_counted, found.n_missing, found.mean) == (20, 15, 5, 100.0)


@pytest.mark.parametrize(
    ("n", "p50", "p90", "p95", "p99"),
    [
        pytest.param(1, 1, None, None, None, id="one"),
        pytest.param(9, 5, None, None, None, id="too few for p90"),
        pytest.param(10, 5, 9, None, None, id="ten"),
        pytest.param(19, 10, 18, None, None, id="too few for p95"),
        pytest.param(20, 10, 18, 19, None, id="twenty"),
        pytest.param(99, 50, 90, 95, None, id="too few for p99"),
        pytest.param(100, 50, 90, 95, 99, id="hundred"),
    ],
)
def test_percentiles_are_observations(
    n: int, p50: float, p90: float | None, p95: float | None, p99: float | None
) -> None:
    """Nearest rank over 1..n: the ⌈p·n⌉-th smallest; null where n is too small to tell it from the maximum.

    Source: Hyndman and Fan 1996, definition 1; numpy's "inverted_cdf".
    """
    values = [float(value) for value in range(1, n + 1)]
    found = quantiles(run(list(reversed(values))))
    assert (found.p50, found.p90, found.p95, found.p99) == (p50, p90, p95, p99)
    assert (found.min, found.max) == (1, n)
    for share, value in ((0.5, p50), (0.9, p90), (0.95, p95), (0.99, p99)):
        if value is not None:
            assert value == np.quantile(values, share, method="inverted_cdf")


def cut(number: int, **fields: Any) -> list[EvalRecord]:
    error = ChannelError(kind="deadline.total")
    return [
        EvalRecord(sample_id=f"cut{place}", answer_status="error", answer_error=error, **fields)
        for place in range(number)
    ]


def test_deadlines_do_not_flatter_the_percentiles() -> None:
    """90 answers in 100 ms and 10 cut off at 30 s: the median is exact, p95 is at least 30 s."""
    found = quantiles([*run([100.0] * 90), *cut(10, total_ms=30_000)], "total_ms")
    assert (found.n_counted, found.n_missing, found.n_censored) == (90, 0, 10)
    assert (found.mean, found.p50, found.p90) == (100, 100, 100)
    assert (found.p95, found.p99, found.max, found.censored_at) == (30_000, 30_000, 30_000, 30_000)


def test_a_deadline_hides_only_what_had_not_come() -> None:
    """An answer that was cut off after its first text hides its end, not its first text."""
    records = cut(1, ttft_ms=200, answer_timings=Timings(first_event_ms=150, end_ms=5000))
    assert quantiles(records, "ttft_ms")[1:5] == (1, 0, 1, 0)
    assert quantiles(records, "total_ms")[1:5] == (1, 0, 0, 1)
    assert quantiles(records, "total_ms").p50 == 5000
    assert quantiles(cut(1, total_ms=700), "ttft_ms")[1:5] == (1, 0, 0, 1)


def test_a_cut_at_an_unknown_moment_is_last_and_null() -> None:
    """Nobody knows how late: the percentiles below stand, those above are null."""
    found = quantiles([*run([100.0] * 9), *cut(1)], "total_ms")
    assert (found.n_censored, found.p50, found.p90, found.max) == (1, 100, 100, None)
    assert found.censored_at is None


def test_a_cached_failure_cuts_nothing_off() -> None:
    assert quantiles(cut(1, total_ms=700, from_cache=True), "total_ms")[1:5] == (1, 0, 1, 0)


def test_other_failures_are_missing() -> None:
    """A refused connection says nothing about how long an answer takes."""
    failed = EvalRecord(
        sample_id="1", answer_status="error", answer_error=ChannelError(kind="connect"), total_ms=3
    )
    assert quantiles([failed], "total_ms")[1:5] == (1, 0, 1, 0)


def test_evidence_deadlines_are_their_own() -> None:
    late = EvalRecord(
        sample_id="1",
        evidence_status="error",
        evidence_error=ChannelError(kind="deadline.total"),
        evidence_timings=Timings(end_ms=10_000),
    )
    found = quantiles([late], "evidence_ms")
    assert (found.n_censored, found.p50, found.mean) == (1, 10_000, None)
    assert quantiles([late], "total_ms").n_censored == 0


PROVIDERS = ("anyscale_7b", "bedrock_13b", "fireworks_7b", "lepton_7b", "replicate_7b", "together_70b")
PUBLISHED = {"ttft_ms": "ttft_s", "total_ms": "end_to_end_latency_s"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_published_measurements(shared: Path, provider: str) -> None:
    """Mean, smallest and largest are the published ones; percentiles lie beside them, by another method.

    llmperf publishes linearly interpolated percentiles, which nobody observed: numpy's default gives them
    back to nine digits. Ours are the observation just below or above, and no p99 of fewer than 100.
    """
    folder = shared / "data" / "llmperf" / "raw_data"
    rows = json.loads((folder / "individual" / f"{provider}.json").read_text(encoding="utf-8"))
    summary = json.loads((folder / "summary" / f"{provider}.json").read_text(encoding="utf-8"))
    good = [row for row in rows if row["error_code"] is None]
    records = [
        EvalRecord(sample_id=str(place), **{ours: row[theirs] for ours, theirs in PUBLISHED.items()})
        for place, row in enumerate(good)
    ]
    for ours, theirs in PUBLISHED.items():
        found = quantiles(records, ours)
        values = sorted(row[theirs] for row in good)
        assert found.n_counted == summary["results_num_completed_requests"]
        for name in ("mean", "min", "max"):
            assert getattr(found, name) == pytest.approx(float(summary[f"results_{theirs}_{name}"]), rel=1e-9)
        for percent in (50, 90, 95, 99):
            published = summary[f"results_{theirs}_quantiles_p{percent}"]
            assert np.quantile(values, percent / 100) == pytest.approx(published, rel=1e-9)
            place = (len(values) - 1) * percent / 100
            beside = (values[math.floor(place)], values[math.ceil(place)])
            assert beside[0] - 1e-9 <= published <= beside[1] + 1e-9
            ours_there = getattr(found, f"p{percent}")
            assert ours_there in beside or (ours_there is None and percent == 99 and len(values) < 100)


DUE = datetime(2026, 11, 30, tzinfo=UTC)


def due(total_ms: float, queue_ms: float, **given: Any) -> EvalRecord:
    """A case that was due, and waited for its turn."""
    told = {"scheduled_at": DUE, "ttft_ms": total_ms / 2, "total_ms": total_ms, **given}
    return EvalRecord(sample_id="1", answer_timings=Timings(queue_ms=queue_ms, connect_ms=1), **told)


def found(records: list[EvalRecord]) -> dict[str, latency.Latency]:
    rows = [record.model_copy(update={"sample_id": str(n)}) for n, record in enumerate(records)]
    return {row.name: row for row in latency.quantiles(rows)}


def test_a_stall_shows_from_the_schedule_and_hides_from_sending() -> None:
    """50 a second, one at a time, 10 ms each; one stalls 2 s, so the 100 after it start late."""
    stalled = [due(10, 2000 - 20 * n) for n in range(100)]
    rows = found([due(10, 0)] * 100 + [due(2000, 0)] + stalled)
    assert rows["total_ms"].p99 == 10
    assert rows["total_ms"].max == 2000
    assert rows["total_from_schedule_ms"].p99 == pytest.approx(2011 - 20 * 1)
    assert rows["ttft_from_schedule_ms"].n_counted == 201


def test_without_a_schedule_there_is_no_latency_from_it() -> None:
    assert not {name for name in found([due(10, 5, scheduled_at=None)]) if "schedule" in name}


@pytest.mark.parametrize(
    "given",
    [
        {"answer_attempts": (Attempt(status="error"), Attempt(status="ok"))},
        {"from_cache": True},
        {"answer_status": "error"},
        {"total_ms": None, "ttft_ms": None},
        {"dialog": (Turn(), Turn())},
    ],
    ids=["asked again", "cached", "failed", "not told", "a dialog"],
)
def test_what_has_no_latency_has_none_from_the_schedule(given: dict[str, Any]) -> None:
    row = found([due(10, 5), due(10, 5).model_copy(update=given)])["total_from_schedule_ms"]
    assert (row.n_total, row.n_counted, row.n_missing) == (2, 1, 1)
    assert row.mean == 16


def test_an_answer_cut_off_counts_from_the_schedule_as_at_least_that() -> None:
    cut = due(10, 500, answer_status="error", answer_error=ChannelError(kind="deadline.total"), ttft_ms=None)
    cut = cut.model_copy(update={"answer_timings": Timings(queue_ms=500, end_ms=3000)})
    row = found([due(10, 5), cut])["total_from_schedule_ms"]
    assert (row.n_counted, row.n_censored, row.max, row.censored_at) == (1, 1, 3500, 3500)
