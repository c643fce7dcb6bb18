"""What judges said, as score columns: one metric for each name among the records' judgements.

A sample without a verdict is not counted, whatever kept the judge from giving one; how often that was is a
metric of its own.
"""

from __future__ import annotations

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.judgements import Judged
from evalkit.records import Records, RecordsLike
from evalkit.slices import slice_mean

__all__ = ["compute"]

_RATES = {"intent_classification", "safety"}


def compute(records: RecordsLike) -> list[MetricResult]:
    """Mean score of each judged metric, under its own name, and the share of judgements without a verdict.

    Counted: samples whose judgement is ok and has a score. `judge_error_rate` counts the samples that a judge
    was asked about at all; one lacking verdict makes it 1. Without any judgement: no result at all.
    """
    table = Records.of(records)
    names = sorted({name for record in table for name in record.judgements} - {Judged.RULES})
    if not names:
        return []
    results = [_judged(table, name) for name in names]
    failed = slice_mean(table, _failed)
    return [
        *results,
        MetricResult("judge_error_rate", *failed, is_pct=True, is_rate=True, lower_is_better=True),
    ]


def _judged(table: Records, name: str) -> MetricResult:
    def score(record: EvalRecord) -> float | None:
        said = record.judgements.get(name)
        return said.score if said is not None and said.status == "ok" else None

    is_rate = name in _RATES and all(score(record) in (0.0, 1.0, None) for record in table)
    by = {said.judge for record in table if (said := record.judgements.get(name)) is not None and said.judge}
    return MetricResult(
        name, *slice_mean(table, score), is_pct=True, is_rate=is_rate, judge=", ".join(sorted(by))
    )


def _failed(record: EvalRecord) -> float | None:
    """1 where some judge gave no verdict on the record, 0 where all did; null where none was asked."""
    statuses = [said.status for name, said in record.judgements.items() if name != Judged.RULES]
    return float(any(status != "ok" for status in statuses)) if statuses else None
