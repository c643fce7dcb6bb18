"""Was the intent right? The gate that everything after it depends on.

Labels compare by exact code points. A record whose evidence channel failed has no intent score.
"""

from __future__ import annotations

import numpy as np

from evalkit.contracts import MetricResult
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["compute", "top1"]


def compute(records: RecordsLike) -> MetricResult:
    """Share of the labelled samples whose predicted intent is the right one (Top-1 accuracy).

    Counted: every record with `intent_l2` whose evidence channel is ok, whether or not it needs retrieval.
    No prediction is a wrong prediction. Nothing counted: null.
    """
    table = Records.of(records)
    return MetricResult("intent_top1", *slice_mean(table, top1(table)), is_pct=True, is_rate=True)


def top1(records: Records) -> Scores:
    """1 where `intent_pred` equals `intent_l2`, else 0; counted as `compute` says."""
    gold, predicted = records.codes("intent_l2", "intent_pred")
    counted = (gold >= 0) & records.equals("evidence_status", "ok")
    return Scores((gold == predicted).astype(np.float64), counted)
