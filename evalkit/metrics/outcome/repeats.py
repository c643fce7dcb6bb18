"""How reliably a task succeeds when it is tried again: pass@k and pass^k over the repeats of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.errors import UsageError
from evalkit.finding import Trust
from evalkit.metrics.outcome.policies import succeeded
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean
from evalkit.stats import pass_at_k, pass_hat_k

__all__ = ["passes"]

_Estimate = Callable[[int, int, int], "float | None"]


def passes(
    records: RecordsLike,
    *,
    ks: Sequence[int] = (1, 2, 3),
    by: Literal["success", "rules"] = "success",
    success: float = 0.8,
    partial: float = 0.5,
    trust: Trust = "report",
) -> list[MetricResult]:
    """`pass@k`, the chance that one of k tries succeeds, and `pass^k`, that all do: per case, then their mean.

    A try succeeds where its outcome is `success` by the policy `graded`, with its thresholds and its `trust`, or where its `rules` hold; one whose
    outcome is unknown is no try. Counted once a case, at its first record, where it has k tries or more.
    UsageError for a k under 1. Sources: `evalkit.stats.pass_at_k`, `pass_hat_k`.
    """
    if min(ks, default=1) < 1:
        raise UsageError(f"passes: found ks {list(ks)}, wanted numbers from 1.")
    table = Records.of(records)
    levels = succeeded(table, success=success, partial=partial, trust=trust)
    tries = _tries(table, table.numbers("rules_passed") if by == "rules" else np.floor(levels))
    forms: dict[str, _Estimate] = {"pass@": pass_at_k, "pass^": pass_hat_k}
    return [_result(table, tries, f"{name}{k}", estimate, k) for name, estimate in forms.items() for k in ks]


def _tries(table: Records, passed: NDArray[np.float64]) -> dict[int, tuple[int, int]]:
    """The tries of each case and how many of them succeeded, by the row of its first record."""
    first: dict[str, int] = {}
    found: dict[int, tuple[int, int]] = {}
    for row, record in enumerate(table):
        place = first.setdefault(record.sample_id, row)
        n, good = found.get(place, (0, 0))
        known = not np.isnan(passed[row])
        found[place] = (n + known, good + bool(known and passed[row]))
    return found


def _result(
    table: Records, tries: dict[int, tuple[int, int]], name: str, estimate: _Estimate, k: int
) -> MetricResult:
    values, counted = np.zeros(len(table)), np.zeros(len(table), dtype=np.bool_)
    for row, (n, good) in tries.items():
        chance = estimate(n, good, k)
        values[row], counted[row] = chance or 0.0, chance is not None
    return MetricResult(name, *slice_mean(table, Scores(values, counted)), is_pct=True)
