"""How far judges can be trusted: with people, with each other, with themselves, and what that does to a rate.

Nothing to compare is null. Labels are compared by equality, whatever they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalkit.stats import wilson

__all__ = [
    "Calibration",
    "Corrected",
    "Rate",
    "calibration",
    "cohen_kappa",
    "fleiss_kappa",
    "flip_rate",
    "rogan_gladen",
]

_LEAST = 0.80  # what the lower bounds of both rates must reach before a judge may decide anything


class Rate(NamedTuple):
    """A share of `n`, with its Wilson interval; null without any."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class Corrected(NamedTuple):
    """A rate as it would be without the judge's errors; `clipped` says that the estimate lay outside 0 to 1."""

    value: float
    clipped: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """A judge against people, over samples that both labelled true or false.

    `tpr` is the share of what people call true that the judge calls true, `tnr` that of false.
    """

    tpr: Rate
    tnr: Rate
    kappa: float | None
    n: int
    least: float = _LEAST

    @property
    def certified(self) -> bool:
        """Whether the judge may gate: the lower bounds of both rates reach `least`."""
        return all(rate.low is not None and rate.low >= self.least for rate in (self.tpr, self.tnr))

    def corrected(self, observed: float) -> Corrected | None:
        """The rate behind the one that the judge observed; null where the judge is no better than chance."""
        if self.tpr.value is None or self.tnr.value is None:
            return None
        return rogan_gladen(observed, tpr=self.tpr.value, tnr=self.tnr.value)


def calibration(judged: Sequence[bool], human: Sequence[bool], *, least: float = _LEAST) -> Calibration:
    """The judge's rates of being right where people say true, and where they say false, with 95 % Wilson bounds."""
    pairs = list(zip(judged, human, strict=True))
    true = [said for said, wanted in pairs if wanted]
    false = [not said for said, wanted in pairs if not wanted]
    return Calibration(_rate(true), _rate(false), cohen_kappa(judged, human), len(pairs), least)


def _rate(right: Sequence[bool]) -> Rate:
    if not right:
        return Rate(None, None, None, 0)
    bounds = wilson(sum(right), len(right))
    return Rate(sum(right) / len(right), float(bounds.low), float(bounds.high), len(right))


def cohen_kappa(one: Sequence[Hashable], other: Sequence[Hashable]) -> float | None:
    """Agreement of two raters beyond chance: (observed - expected) ÷ (1 - expected).

    Null for no samples, and where both always say the same one label: chance alone explains that. Source:
    Cohen (1960), Educational and Psychological Measurement 20(1).
    """
    n = len(one)
    observed = sum(a == b for a, b in zip(one, other, strict=True))
    counts, others = Counter(one), Counter(other)
    expected = sum(counts[label] * others[label] for label in counts)
    if n == 0 or expected == n * n:
        return None
    return (observed * n - expected) / (n * n - expected)


def fleiss_kappa(ratings: Sequence[Sequence[Hashable]]) -> float | None:
    """Agreement of several raters beyond chance; `ratings` has the labels of each sample, as many for each.

    Null for no samples, and where all labels are the same one. ValueError for samples with different numbers
    of ratings, or fewer than two. Source: Fleiss (1971), Psychological Bulletin 76(5).
    """
    if not ratings:
        return None
    raters = {len(labels) for labels in ratings}
    if len(raters) > 1 or min(raters) < 2:  # noqa: PLR2004 - one rater agrees with nobody
        raise ValueError(f"found {sorted(raters)} ratings a sample, wanted the same number, at least 2")
    m, n = raters.pop(), len(ratings)
    counts = [Counter(labels) for labels in ratings]
    observed = sum(sum(c * c for c in count.values()) - m for count in counts) / (n * m * (m - 1))
    totals = Counter(label for labels in ratings for label in labels)
    expected = sum((total / (n * m)) ** 2 for total in totals.values())
    return None if len(totals) == 1 else (observed - expected) / (1 - expected)


def rogan_gladen(observed: float, *, tpr: float, tnr: float) -> Corrected | None:
    """(observed + tnr - 1) ÷ (tpr + tnr - 1), clipped to 0 to 1; null where tpr + tnr is at most 1.

    Source: Rogan and Gladen (1978), American Journal of Epidemiology 107(1).
    """
    better = tpr + tnr - 1
    if better <= 0:
        return None
    value = (observed + tnr - 1) / better
    return Corrected(min(1.0, max(0.0, value)), clipped=not 0 <= value <= 1)


def flip_rate(repeats: Iterable[Sequence[Hashable]]) -> float | None:
    """Share of the samples asked more than once whose answers were not all the same; null without any."""
    flips = [len(set(answers)) > 1 for answers in repeats if len(answers) > 1]
    return sum(flips) / len(flips) if flips else None
