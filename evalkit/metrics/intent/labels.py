"""Which way the intent errs: the same decisions, counted by label.

Whatever is counted here is what `intent_top1` counts.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from evalkit.metrics.intent.scores import top1
from evalkit.records import Records, RecordsLike

__all__ = [
    "Confusion",
    "LabelReport",
    "Pair",
    "added",
    "averaged",
    "averages",
    "confusions",
    "directions",
    "errors",
    "near_misses",
    "per_label",
]

Pair: TypeAlias = "tuple[str, str | None]"
"""The right label, and the one that was given; null where none was."""

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
    samples: dict[Pair, list[str]] = defaultdict(list)
    for row, pair in errors(table):
        samples[pair].append(table.keys[row])
    n = {label.label: label.support for label in per_label(table)}
    return directions({pair: len(keys) for pair, keys in samples.items()}, n, samples)


def errors(records: Records) -> Iterator[tuple[int, Pair]]:
    """The errors of `intent_top1` in the order of the records: the row, its right label and the one that was given."""
    counted, right = top1(records).counted, top1(records).values
    texts, codes = [*records.vocabulary, None], records.codes("intent_l2", "intent_pred")
    rows = np.flatnonzero(counted & (right == 0))
    for row, gold, given in zip(rows.tolist(), *(column[rows].tolist() for column in codes), strict=True):
        yield row, (texts[gold] or "", texts[given])


def directions(
    n: Mapping[Pair, int], support: Mapping[str, int], keys: Mapping[Pair, Sequence[str]]
) -> list[Confusion]:
    """The error directions from how often each befell and how often each label stands; those without `keys` have none."""
    wrong: Counter[str] = Counter()
    for (gold, _), times in n.items():
        wrong[gold] += times
    return _in_order(
        Confusion(
            gold,
            given,
            times,
            support[gold],
            times / wrong[gold],
            tuple(sorted(keys.get((gold, given), ()))),
        )
        for (gold, given), times in n.items()
    )


def _in_order(found: Iterable[Confusion]) -> list[Confusion]:
    return sorted(found, key=lambda pair: (-pair.n, pair.gold_n, pair.gold, pair.predicted or ""))


def near_misses(found: Iterable[Confusion]) -> list[Confusion]:
    """The error directions between labels that look the same: equal after NFKC, without zero-width characters, stripped.

    They count as wrong; most likely one side writes the label with other code points.
    """
    return [
        pair for pair in found if pair.predicted is not None and _plain(pair.gold) == _plain(pair.predicted)
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
