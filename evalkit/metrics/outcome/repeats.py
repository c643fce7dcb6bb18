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
from evalkit.slices import Kinds, Scores, slice_mean
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
    passed = table.numbers("rules_passed") if by == "rules" else np.floor(levels)
    kinds, tries = _tries(table, passed)
    forms: dict[str, _Estimate] = {"pass@": pass_at_k, "pass^": pass_hat_k}
    columns = {
        f"{name}{k}": [estimate(n, good, k) for n, good in tries]
        for name, estimate in forms.items()
        for k in ks
    }
    return [_result(table, name, kinds, chances) for name, chances in columns.items()]


def _tries(table: Records, passed: NDArray[np.float64]) -> tuple[Kinds, list[tuple[int, int]]]:
    """The kinds of cases, told at each case's first record: how many tries, and how many of them succeeded.

    Any other record is of one kind more.
    """
    (cases,) = table.codes("sample_id")
    _, first, case = np.unique(cases, return_index=True, return_inverse=True)
    known = ~np.isnan(passed)
    counts = [np.bincount(case[rows], minlength=len(first)) for rows in (known, known & (passed > 0))]
    tries, kind = np.unique(np.stack(counts, axis=1), axis=0, return_inverse=True)
    codes = np.full(len(table), len(tries), dtype=np.int32)
    codes[first] = kind
    return Kinds(codes, len(tries) + 1), [(n, good) for n, good in tries.tolist()]


def _result(table: Records, name: str, kinds: Kinds, chances: Sequence[float | None]) -> MetricResult:
    values = np.array([*(chance or 0.0 for chance in chances), 0.0])
    counted = np.array([*(chance is not None for chance in chances), False])
    return MetricResult(name, *slice_mean(table, Scores(values, counted, kinds)), is_pct=True)
