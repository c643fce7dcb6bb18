"""What judges said, as score columns: one metric for each name among the records' judgements.

A sample without a verdict is not counted, whatever kept the judge from giving one; how often that was is a
metric of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evalkit.contracts import EvalRecord, Judgement, MetricResult
from evalkit.judgements import Judged
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["JUDGE_ERRORS", "compute"]

JUDGE_ERRORS = "judge_error_rate"
_RATES = {"intent_classification", "safety"}


def compute(records: RecordsLike) -> list[MetricResult]:
    """Mean score of each judged metric, under its own name, and the share of judgements without a verdict.

    Counted: samples whose judgement is ok and has a score. `judge_error_rate` counts the samples that a judge
    was asked about at all; one lacking verdict makes it 1. Without any judgement: no result at all.
    """
    table = Records.of(records)
    asked = table.given("judgements")
    said = {int(row): table[int(row)].judgements for row in np.flatnonzero(asked)}
    names = sorted({name for each in said.values() for name in each} - {Judged.RULES})
    if not names:
        return []
    results = [_judged(table, said, name) for name in names]
    failed = slice_mean(table, _failed, where=asked)
    return [
        *results,
        MetricResult(JUDGE_ERRORS, *failed, is_pct=True, is_rate=True, lower_is_better=True),
    ]


def _judged(table: Records, said: Mapping[int, Mapping[str, Judgement]], name: str) -> MetricResult:
    found = {row: each[name] for row, each in said.items() if name in each}
    scores = {row: one.score for row, one in found.items() if one.status == "ok" and one.score is not None}
    values, counted = np.zeros(len(table)), np.zeros(len(table), dtype=np.bool_)
    values[list(scores)], counted[list(scores)] = list(scores.values()), True
    is_rate = name in _RATES and set(scores.values()) <= {0.0, 1.0}
    judges = ", ".join(sorted({one.judge for one in found.values() if one.judge}))
    means = slice_mean(table, Scores(values, counted))
    return MetricResult(name, *means, is_pct=True, is_rate=is_rate, judge=judges)


def _failed(record: EvalRecord) -> float | None:
    """1 where some judge gave no verdict on the record, 0 where all did; null where none was asked."""
    statuses = [said.status for name, said in record.judgements.items() if name != Judged.RULES]
    return float(any(status != "ok" for status in statuses)) if statuses else None
