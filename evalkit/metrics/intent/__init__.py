"""Was the intent right? The gate that everything after it depends on, and which way it errs."""

from __future__ import annotations

from evalkit.metrics.intent.labels import (
    Confusion,
    LabelReport,
    added,
    averaged,
    averages,
    confusions,
    in_order,
    near_misses,
    per_label,
)
from evalkit.metrics.intent.scores import (
    abstained,
    compute,
    family,
    l1_top1,
    parents_of,
    top1,
    topk,
    unknown_parents,
)

__all__ = [
    "Confusion",
    "LabelReport",
    "abstained",
    "added",
    "averaged",
    "averages",
    "compute",
    "confusions",
    "family",
    "in_order",
    "l1_top1",
    "near_misses",
    "parents_of",
    "per_label",
    "top1",
    "topk",
    "unknown_parents",
]
