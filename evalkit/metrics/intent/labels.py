"""Which way the intent errs: the same decisions, counted by label.

Whatever is counted here is what `intent_top1` counts.
"""

from __future__ import annotations

import math
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from evalkit.metrics.intent.scores import top1
from evalkit.records import Records, RecordsLike

__all__ = [
    "Confusion",
    "LabelReport",
    "added",
    "averaged",
    "averages",
    "confusions",
    "in_order",
    "near_misses",
    "per_label",
]

_ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


class Confusion(NamedTuple):
    """An error direction: `n` of the `gold_n` samples of the label `gold` were taken for `predicted`.

    `predicted` is null where the system abstained. `share` is `n` over all errors of the gold label, `keys`
    are the samples, sorted.
    """

    gold: str
    predicted: str | None
    n: int
    gold_n: int
    share: float
    keys: tuple[str, ...]


class LabelReport(NamedTuple):
    """How one label fares: precision is null when it was never predicted, recall when it is never gold.

    `support` samples have the label, `predicted` were given it, `right` both.
    """

    label: str
    precision: float | None
    recall: float | None
    f1: float
    support: int
    predicted: int
    right: int


def confusions(records: RecordsLike) -> list[Confusion]:
    """Which label is taken for which: the pairs of `intent_top1`'s errors, the most frequent first.

    Equally frequent pairs stand by the share of the gold label they cost, then by label. No errors: empty.
    """
    table = Records.of(records)
    counted, right = top1(table).counted, top1(table).values
    gold, predicted = table.codes("intent_l2", "intent_pred")
    rows = np.flatnonzero(counted & (right == 0))
    samples: dict[tuple[int, int], list[str]] = defaultdict(list)
    for label, other, row in zip(gold[rows].tolist(), predicted[rows].tolist(), rows.tolist(), strict=True):
        samples[label, other].append(table.keys[row])
    errors, n = (np.bincount(gold[which]).tolist() for which in (rows, counted))
    texts = [*table.vocabulary, None]
    return in_order(
        Confusion(
            texts[label] or "",
            texts[other],
            len(keys),
            n[label],
            len(keys) / errors[label],
            tuple(sorted(keys)),
        )
        for (label, other), keys in samples.items()
    )


def in_order(found: Iterable[Confusion]) -> list[Confusion]:
    """The error directions as `confusions` gives them: the most frequent first."""
    return sorted(found, key=lambda pair: (-pair.n, pair.gold_n, pair.gold, pair.predicted or ""))


def near_misses(records: RecordsLike) -> list[Confusion]:
    """The confusions of labels that look the same: equal after NFKC, without zero-width characters, stripped.

    They count as wrong; most likely one side writes the label with other code points.
    """
    return [
        pair
        for pair in confusions(records)
        if pair.predicted is not None and _plain(pair.gold) == _plain(pair.predicted)
    ]


def _plain(label: str) -> str:
    return unicodedata.normalize("NFKC", label).translate(_ZERO_WIDTH).strip()


def per_label(records: RecordsLike) -> list[LabelReport]:
    """Precision, recall, F1 and support of each label that is gold or predicted, sorted by label.

    As scikit-learn's `classification_report`, except that a ratio without a denominator is null, not 0. An
    abstention is an error of its gold label and no prediction of any. Counted as `compute`.
    """
    table = Records.of(records)
    scores = top1(table)
    gold, predicted = (codes[scores.counted] for codes in table.codes("intent_l2", "intent_pred"))
    names = table.vocabulary
    support = np.bincount(gold, minlength=len(names)).tolist()
    named = np.bincount(predicted[predicted >= 0], minlength=len(names)).tolist()
    right = np.bincount(gold[gold == predicted], minlength=len(names)).tolist()
    counts = zip(names, right, named, support, strict=True)
    return sorted(
        _report(name, right=tp, claims=claims, n=n) for name, tp, claims, n in counts if claims or n
    )


def _report(label: str, *, right: int, claims: int, n: int) -> LabelReport:
    f1 = 2 * right / (claims + n)
    return LabelReport(label, _ratio(right, claims), _ratio(right, n), f1, n, claims, right)


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def averages(records: RecordsLike) -> list[LabelReport]:
    """The rows macro, weighted and micro: averages over the labels of `per_label`; nothing counted: empty.

    As in scikit-learn a null precision or recall counts 0 in macro and weighted. Micro pools all decisions:
    its recall is `intent_top1`; its precision leaves abstentions out, so that without them the two are one.
    """
    return averaged(per_label(records))


def added(parts: Iterable[LabelReport]) -> list[LabelReport]:
    """The reports of several parts of a run as one of each label, sorted by label."""
    counts: dict[str, list[int]] = {}
    for part in parts:
        known = counts.setdefault(part.label, [0, 0, 0])
        counts[part.label] = [a + b for a, b in zip(known, _counts(part), strict=True)]
    return [
        _report(label, right=right, claims=claims, n=n)
        for label, (n, claims, right) in sorted(counts.items())
    ]


def averaged(reports: Sequence[LabelReport]) -> list[LabelReport]:
    """As `averages`, of the reports that `per_label` gives."""
    if not reports:
        return []
    n, claims, right = (sum(counts) for counts in zip(*(_counts(report) for report in reports), strict=True))
    return [
        _average("macro", reports, [1] * len(reports)),
        _average("weighted", reports, [report.support for report in reports]),
        _report("micro", right=right, claims=claims, n=n),
    ]


def _counts(report: LabelReport) -> tuple[int, int, int]:
    return report.support, report.predicted, report.right


def _average(name: str, reports: Sequence[LabelReport], weights: Sequence[int]) -> LabelReport:
    """The weighted means of precision, recall and F1, beside the sums of the counts."""

    def mean(values: Iterable[float | None]) -> float:
        products = ((value or 0.0) * weight for value, weight in zip(values, weights, strict=True))
        return math.fsum(products) / sum(weights)

    _, precisions, recalls, f1s, *counts = zip(*reports, strict=True)
    return LabelReport(name, mean(precisions), mean(recalls), mean(f1s), *(sum(column) for column in counts))
