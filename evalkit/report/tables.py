"""Records and score columns as tables: samples, slices, error directions, latencies.

The slices are sums of the same columns that `samples` shows, so that each of their numbers can be had
again by grouping the one by a label and averaging.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import Attempt, ChannelError, EvalRecord, MetricResult
from evalkit.errors import UsageError
from evalkit.metrics.intent import Confusion
from evalkit.metrics.latency import Latency
from evalkit.records import Records
from evalkit.report.fields import labels_of, refuse_unknown
from evalkit.report.schemas import CONFUSIONS, LATENCY, SAMPLES, SLICES, samples_schema
from evalkit.report.text import storable
from evalkit.slices import PerSample, Scores, Tally, counted_rows, tally
from evalkit.stats import mean_interval

__all__ = [
    "Tables",
    "confusions",
    "latency",
    "samples",
    "scores",
    "signature",
    "slices",
]

Drawn: TypeAlias = NDArray[np.int64]

OVERALL = "overall"
LEVELS = ("intent_l1", "intent_l2")


class Tables(NamedTuple):
    """The four tables of one run; each is written under its own name."""

    samples: pa.Table
    slices: pa.Table
    confusions: pa.Table
    latency: pa.Table


def samples(
    records: Records, results: Sequence[MetricResult], *, run_id: str, by: Sequence[str] = ()
) -> pa.Table:
    """One row a sample (SAMPLES), with one column a metric; null where the metric does not count it.

    A field in `by` that is no fixed column gets one, with the labels by which the sample stands in slices.
    Raises UsageError where two columns would have one name, UnknownName for a field that no record has.
    """
    refuse_unknown(records, by)
    names = [result.name for result in results]
    fields = [field for field in dict.fromkeys(by) if field not in SAMPLES.names]
    _refuse_clashes([*fields, *names])
    fixed = pa.Table.from_pylist([_sample(record, run_id) for record in records], schema=SAMPLES)
    labels = [_label_column(records, field) for field in fields]
    columns = [_score_column(scores(records, result)) for result in results]
    return pa.table([*fixed.columns, *labels, *columns], schema=samples_schema(names, fields))


def _label_column(records: Records, field: str) -> pa.Array[Any]:
    column: pa.Array[Any] = pa.array(labels_of(records, field), type=SAMPLES.field("tags").type)
    return column


def _refuse_clashes(names: list[str]) -> None:
    taken = set(SAMPLES.names)
    for name in names:
        if name in taken:
            raise UsageError(
                f"metric {name!r}: found a column of that name, wanted one name a column; rename the metric."
            )
        taken.add(name)


def _sample(record: EvalRecord, run_id: str) -> dict[str, Any]:
    row = {
        "run_id": run_id,
        "sample_id": record.sample_id,
        "query": "\n".join(record.user_turns),
        "intent_l1": record.intent_l1 or None,
        "intent_l2": record.intent_l2 or None,
        "intent_pred": record.intent_pred or None,
        "difficulty": record.difficulty or None,
        "trap_type": record.trap_type or None,
        "answer_error": _kind(record.answer_error),
        "evidence_error": _kind(record.evidence_error),
    }
    return {name: value and storable(value) for name, value in row.items()} | {
        "repeat": record.repeat,
        "requires_rag": record.requires_rag,
        "tags": [storable(tag) for tag in record.tags],
        "answer_status": record.answer_status,
        "evidence_status": record.evidence_status,
        "answer_retries": _retries(record.answer_attempts),
        "evidence_retries": _retries(record.evidence_attempts),
    }


def _kind(error: ChannelError | None) -> str | None:
    return error.kind if error else None


def _retries(attempts: tuple[Attempt, ...]) -> int:
    return max(len(attempts) - 1, 0)


def scores(records: Records, result: MetricResult) -> Scores:
    """The score column of a result in the order of the records, whatever mapping it keeps it in."""
    found = result.per_sample
    if isinstance(found, PerSample) and tuple(found.keys_in_order) == records.keys:
        return found.scores
    values = [found.get(key) for key in records.keys]
    counted = np.array([value is not None for value in values], dtype=np.bool_)
    return Scores(np.array([value or 0.0 for value in values], dtype=np.float64), counted)


def _score_column(column: Scores) -> pa.Array[Any]:
    return pa.array(column.values, type=pa.float64(), mask=~column.counted)


def slices(
    records: Records,
    results: Sequence[MetricResult],
    *,
    run_id: str,
    eval_set_sha256: str | None,
    by: Sequence[str] = (),
    clusters: Drawn | None = None,
) -> pa.Table:
    """One row a metric and slice (SLICES): overall, by both intent levels, and by the fields in `by`.

    A row stands in one slice of each dimension, or in none where it has no label, or in several where the
    field is a list. Intervals draw the samples of one number in `clusters` (n,) together; without it those of a
    case. UnknownName for a field that no record has.
    """
    refuse_unknown(records, by)
    drawn = records.codes("sample_id")[0].astype(np.int64) if clusters is None else clusters
    dimensions = dict.fromkeys((*LEVELS, *by))
    rows = [
        {"run_id": storable(run_id), "metric": result.name, "dimension": dimension, **row}
        for result in results
        for dimension, by_column in ((OVERALL, None), *((name, name) for name in dimensions))
        for row in _slice_rows(records, result, by=by_column, sha256=eval_set_sha256, drawn=drawn)
    ]
    return pa.Table.from_pylist(rows, schema=SLICES)


def _slice_rows(
    records: Records, result: MetricResult, *, by: str | None, sha256: str | None, drawn: Drawn
) -> Iterator[dict[str, Any]]:
    column = scores(records, result)
    sums = tally(records, column, by=by)
    worst = _worst_case(result, sums)
    members = counted_rows(records, column, by=by)
    for row, (label, counted) in enumerate(zip(sums.labels, members, strict=True)):
        low, high = _mean_interval(
            column.values[counted].tobytes(), drawn[counted].tobytes(), is_rate=result.is_rate
        )
        yield {
            "slice": storable(label),
            "n_total": int(sums.n_total[row]),
            "n_counted": int(sums.n_counted[row]),
            "mean": _number(sums.means, row),
            "ci_low": low,
            "ci_high": high,
            "lower_is_better": result.lower_is_better,
            "signature": signature(result, eval_set_sha256=sha256),
            "is_pct": result.is_pct,
            "worst_case": _number(worst, row),
        }


@lru_cache(maxsize=4096)
def _mean_interval(values: bytes, drawn: bytes, *, is_rate: bool) -> tuple[float | None, float | None]:
    """Many metrics give the same column (precision@1, hit@1, mrr@1, …): each is drawn once."""
    return mean_interval(
        np.frombuffer(values, dtype=np.float64),
        is_rate=is_rate,
        clusters=np.frombuffer(drawn, dtype=np.int64),
    )


def _worst_case(result: MetricResult, sums: Tally) -> NDArray[np.float64] | None:
    """The mean with every sample that was not counted at its worst: 0, or 1 for a rate of something bad."""
    if result.lower_is_better and not result.is_rate:
        return None
    missing = (sums.n_total - sums.n_counted) if result.lower_is_better else 0
    counted = np.where(sums.n_counted > 0, sums.n_total, np.nan)
    bound: NDArray[np.float64] = (sums.total + missing) / counted
    return bound


def _number(column: NDArray[np.float64] | None, row: int) -> float | None:
    if column is None or np.isnan(column[row]):
        return None
    return float(column[row])


def signature(result: MetricResult, *, eval_set_sha256: str | None) -> str:
    """What must be equal for two numbers to be compared: `metric|v1|set:<sha12>`, who judged, what was set.

    An unknown eval set is `set:?`, which equals nothing.
    """
    parts = [result.name, f"v{result.version}", f"set:{(eval_set_sha256 or '?')[:12]}"]
    parts += [f"judge:{result.judge}"] if result.judge else []
    return "|".join([*parts, result.params] if result.params else parts)


def confusions(found: Sequence[Confusion], *, run_id: str) -> pa.Table:
    """One row an error direction (CONFUSIONS), in the given order."""
    rows = [
        {
            "run_id": storable(run_id),
            "gold": storable(pair.gold),
            "predicted": storable(pair.predicted) if pair.predicted else None,
            "n": pair.n,
            "gold_n": pair.gold_n,
            "share": pair.share,
            "keys": [storable(key) for key in pair.keys],
        }
        for pair in found
    ]
    return pa.Table.from_pylist(rows, schema=CONFUSIONS)


def latency(found: Sequence[Latency], *, run_id: str) -> pa.Table:
    """One row a timed figure (LATENCY), in the given order."""
    rows = [
        {name: storable(run_id) if name == "run_id" else getattr(figure, name) for name in LATENCY.names}
        for figure in found
    ]
    return pa.Table.from_pylist(rows, schema=LATENCY)
