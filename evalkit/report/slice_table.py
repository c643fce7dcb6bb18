"""The table of slices: each metric's mean in each slice, with its denominators and its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.records import Records
from evalkit.report.fields import refuse_unknown
from evalkit.report.intervals import Intervals
from evalkit.report.schemas import SLICES
from evalkit.report.text import storable
from evalkit.slices import Tally, scores_of, tally

__all__ = ["LEVELS", "OVERALL", "SlicePart", "dimensions", "signature", "slice_rows", "slices"]

Floats = NDArray[np.float64]

OVERALL = "overall"
LEVELS = ("intent_l1", "intent_l2")


def slices(
    records: Records,
    results: Sequence[MetricResult],
    *,
    run_id: str,
    eval_set_sha256: str | None,
    by: Sequence[str] = (),
    clusters: NDArray[np.int64] | None = None,
) -> pa.Table:
    """One row a metric and slice (SLICES): overall, by both intent levels, and by the fields in `by`.

    A row stands in one slice of each dimension, or in none where it has no label, or in several where the
    field is a list. Fields with commas between them are crossed. Intervals draw the samples of
    one number in `clusters` (n,) together; without it those of a case. UnknownName for a field that no record has.
    """
    refuse_unknown(records, by)
    intervals = Intervals(records, clusters)
    parts = [
        SlicePart(sums, found, result, dimension)
        for result in results
        for dimension, sums, found in _measured(records, result, dimensions(by), intervals)
    ]
    return slice_rows(parts, run_id=run_id, eval_set_sha256=eval_set_sha256)


class SlicePart(NamedTuple):
    """The sums of one metric and dimension, with the bounds (2, slices) of their means."""

    sums: Tally
    bounds: Floats
    result: MetricResult
    dimension: str


def dimensions(by: Sequence[str]) -> list[str]:
    """All dimensions of a run that is sliced by these fields too."""
    return list(dict.fromkeys((OVERALL, *LEVELS, *by)))


def slice_rows(found: Sequence[SlicePart], *, run_id: str, eval_set_sha256: str | None) -> pa.Table:
    """The rows of these metrics and dimensions, in their order (SLICES)."""
    parts = [_part(*each, signature(each.result, eval_set_sha256=eval_set_sha256)) for each in found]
    columns = {name: [part[name] for part in parts] for name in SLICES.names if name != "run_id"}
    rows = sum(len(part["mean"]) for part in parts)
    told: dict[str, Any] = {"run_id": pa.repeat(pa.scalar(storable(run_id)), rows)}
    told |= {name: pa.chunked_array(chunks, type=SLICES.field(name).type) for name, chunks in columns.items()}
    return pa.table([told[name] for name in SLICES.names], schema=SLICES).combine_chunks()


def _measured(
    records: Records, result: MetricResult, dimensions: Sequence[str], intervals: Intervals
) -> Iterator[tuple[str, Tally, Floats]]:
    """The sums of each dimension, and the bounds of their means."""
    column = scores_of(records, result)
    for dimension in dimensions:
        by = None if dimension == OVERALL else dimension
        sums = tally(records, column, by=by, squared=not result.is_rate)
        yield dimension, sums, intervals.of(column, sums, by=by, is_rate=result.is_rate)


def _part(
    sums: Tally, bounds: Floats, result: MetricResult, dimension: str, signed: str
) -> dict[str, pa.Array[Any]]:
    """The rows of one metric and dimension, as columns."""
    n = len(sums.labels)
    same: dict[str, Any] = {
        "metric": result.name,
        "dimension": dimension,
        "lower_is_better": result.lower_is_better,
        "signature": signed,
        "is_pct": result.is_pct,
    }
    numbers = {
        "mean": sums.means,
        "ci_low": bounds[0],
        "ci_high": bounds[1],
        "worst_case": _worst(result, sums),
    }
    return {
        "slice": pa.array([storable(label) for label in sums.labels], type=pa.string()),
        "n_total": pa.array(sums.n_total),
        "n_counted": pa.array(sums.n_counted),
        **{name: pa.repeat(pa.scalar(value), n) for name, value in same.items()},
        **{name: pa.array(column, mask=np.isnan(column)) for name, column in numbers.items()},
    }


def _worst(result: MetricResult, sums: Tally) -> Floats:
    """The mean with every sample that was not counted at its worst: 0, or 1 for a rate of something bad."""
    if result.lower_is_better and not result.is_rate:
        return np.full(len(sums.labels), np.nan)
    missing = (sums.n_total - sums.n_counted) if result.lower_is_better else 0
    counted = np.where(sums.n_counted > 0, sums.n_total, np.nan)
    bound: Floats = (sums.total + missing) / counted
    return bound


def signature(result: MetricResult, *, eval_set_sha256: str | None) -> str:
    """What must be equal for two numbers to be compared: `metric|v1|set:<sha12>`, who judged, what was set.

    An unknown eval set is `set:?`, which equals nothing.
    """
    parts = [result.name, f"v{result.version}", f"set:{(eval_set_sha256 or '?')[:12]}"]
    parts += [f"judge:{result.judge}"] if result.judge else []
    return "|".join([*parts, result.params] if result.params else parts)
