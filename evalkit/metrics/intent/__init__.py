"""Was the intent right? The gate that everything after it depends on, and which way it errs."""

from __future__ import annotations

from evalkit.metrics.intent.labels import (
    Confusion,
    LabelReport,
    Pair,
    added,
    averaged,
    averages,
    confusions,
    directions,
    errors,
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
    "Pair",
    "abstained",
    "added",
    "averaged",
    "averages",
    "compute",
    "confusions",
    "directions",
    "errors",
    "family",
    "l1_top1",
    "near_misses",
    "parents_of",
    "per_label",
    "top1",
    "topk",
    "unknown_parents",
]
