"""Intent score columns and their means.

Labels compare by exact code points. A record whose evidence channel failed has no intent score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.errors import UsageError
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["abstained", "compute", "family", "l1_top1", "parents_of", "top1", "topk", "unknown_parents"]


_Codes: TypeAlias = NDArray[np.int32]

_UNKNOWN, _ELSEWHERE = -2, -3
"""No parent is known; the parent is the label of no record."""


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
    return Scores.flags(gold == predicted, counted)


def topk(records: RecordsLike, *, ks: Sequence[int] = (3,)) -> list[MetricResult]:
    """Share of the labelled samples whose intent is among the first k distinct non-empty predictions.

    One result a k, `intent_top{k}`, over `intent_pred_all`; where that holds nothing, `intent_pred` is the
    only prediction. Counted as `compute`. Raises UsageError for a k below 1.
    """
    if any(k < 1 for k in ks):
        raise UsageError(f"intent_top{{k}}: found ks = {list(ks)}, wanted whole numbers from 1.")
    table = Records.of(records)
    place, counted = _place_of_gold(table), top1(table).counted
    scores = {k: Scores.flags((place > 0) & (place <= k), counted) for k in ks}
    return [
        MetricResult(f"intent_top{k}", *slice_mean(table, scores[k]), is_pct=True, is_rate=True) for k in ks
    ]


def _place_of_gold(table: Records) -> NDArray[np.int64]:
    """Where the right label stands among the distinct predictions of each record, from 1; 0 if nowhere."""
    gold, only = table.codes("intent_l2", "intent_pred")
    (several,) = table.lists("intent_pred_all")
    rows, codes, ranks = several.ranked()
    place: NDArray[np.int64] = ((gold == only) & (gold >= 0)).astype(np.int64)
    place[rows] = 0
    right = codes == gold[rows]
    place[rows[right]] = ranks[right]
    return place


def l1_top1(records: RecordsLike, *, parents: Mapping[str, str] | None = None) -> MetricResult:
    """Share of the samples with `intent_l1` whose predicted label stands under it.

    `parents` maps each label to the one above it; without it the records' own pairs of `intent_l2` and
    `intent_l1` do, except of labels that stand under two; the parts of a run need `parents` to add up. A
    prediction whose parent is unknown is wrong: `unknown_parents` counts them. Counted: `intent_l1` given,
    evidence ok.
    """
    table = Records.of(records)
    (gold,) = table.codes("intent_l1")
    scores = Scores.flags(_parents(table, parents) == gold, _l1_counted(table))
    return MetricResult("intent_l1_top1", *slice_mean(table, scores), is_pct=True, is_rate=True)


def parents_of(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The label above each, from pairs of a label and the one above it; labels under two are left out."""
    above: dict[str, set[str]] = {}
    for label, parent in pairs:
        above.setdefault(label, set()).add(parent)
    return {label: next(iter(parents)) for label, parents in above.items() if len(parents) == 1}


def unknown_parents(records: RecordsLike, *, parents: Mapping[str, str] | None = None) -> dict[str, int]:
    """How often each label without a known parent was predicted where `l1_top1` counts, most often first."""
    table = Records.of(records)
    (predicted,) = table.codes("intent_pred")
    unknown = (predicted >= 0) & (_parents(table, parents) == _UNKNOWN) & _l1_counted(table)
    codes, counts = np.unique(predicted[unknown], return_counts=True)
    texts = table.vocabulary
    found = {texts[code]: n for code, n in zip(codes.tolist(), counts.tolist(), strict=True)}
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _l1_counted(table: Records) -> NDArray[np.bool_]:
    (gold,) = table.codes("intent_l1")
    counted: NDArray[np.bool_] = (gold >= 0) & table.equals("evidence_status", "ok")
    return counted


def _parents(table: Records, given: Mapping[str, str] | None) -> _Codes:
    """The code of the label above each record's prediction; less than that of any label where it is unknown."""
    label, parent, predicted = table.codes("intent_l2", "intent_l1", "intent_pred")
    above = np.full(max(label.max(initial=0), predicted.max(initial=0)) + 2, _UNKNOWN, dtype=np.int32)
    if given is not None:
        texts = table.vocabulary
        labels = {texts[code]: code for code in np.unique(parent[parent >= 0]).tolist()}
        for code in np.unique(predicted[predicted >= 0]).tolist():
            if found := given.get(texts[code]):
                above[code] = labels.get(found, _ELSEWHERE)
        return above[predicted]
    paired = (label >= 0) & (parent >= 0)
    above[label[paired]] = parent[paired]
    above[label[paired & (above[label] != parent)]] = _UNKNOWN  # a label under two has no parent
    return above[predicted]


def abstained(records: RecordsLike) -> MetricResult:
    """Share of the labelled samples without any prediction; each is wrong in `intent_top1` as well.

    Counted as `compute`: a record whose evidence channel failed did not abstain.
    """
    table = Records.of(records)
    (predicted,) = table.codes("intent_pred")
    scores = Scores.flags(predicted < 0, top1(table).counted)
    means = slice_mean(table, scores)
    return MetricResult("intent_abstained", *means, is_pct=True, is_rate=True, lower_is_better=True)


def family(
    records: RecordsLike, *, ks: Sequence[int] = (3,), parents: Mapping[str, str] | None = None
) -> list[MetricResult]:
    """All intent metrics: Top-1, Top-k for each of `ks`, the upper level, abstentions."""
    table = Records.of(records)
    return [compute(table), *topk(table, ks=ks), l1_top1(table, parents=parents), abstained(table)]
