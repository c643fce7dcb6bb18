"""How sure a mean is: Wilson's interval for rates, the bootstrap for the rest."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats.drawing import SEED, SLACK, Floats
from evalkit.stats.student import t_quantile

__all__ = [
    "CONFIDENCE",
    "DRAWN_UP_TO",
    "DRAWS",
    "Interval",
    "Urn",
    "bootstrap",
    "interval_of",
    "mean_interval",
    "urn_of",
    "urn_of_kinds",
    "wilson",
]

CONFIDENCE = 0.95
DRAWS = 10_000
_EQUAL_ENOUGH = 16
DRAWN_UP_TO = 1_000
"""Of more clusters than these the normal interval stands in for the drawn one."""


class Interval(NamedTuple):
    """Lower and upper bounds, shape of the counts they came from; NaN where there were none."""

    low: Floats
    high: Floats


class Urn(NamedTuple):
    """What an interval is drawn from: clusters by the sum of their values and by their size, (kinds,) each.

    Equal ones stand once, `counts` of them, in order of sum and size: so the order of the values tells nothing.
    """

    sums: Floats
    sizes: Floats
    counts: NDArray[np.int64]

    @property
    def n(self) -> int:
        """How many clusters there are."""
        return int(self.counts.sum())

    @property
    def n_values(self) -> int:
        """How many values there are."""
        return int((self.sizes * self.counts).sum())

    @property
    def mean(self) -> float:
        """The mean of all values, NaN of none."""
        return float((self.sums * self.counts).sum() / self.n_values) if self.n_values else math.nan


def urn_of(values: ArrayLike, clusters: ArrayLike | None = None) -> Urn:
    """The values (n,) by their `clusters` (n,); without these every value is one of its own."""
    sums: Floats = np.asarray(values, dtype=np.float64)
    sizes: Floats = np.ones(len(sums))
    if clusters is not None:
        _, index = np.unique(np.asarray(clusters), return_inverse=True)
        sums, sizes = (np.bincount(index, weights=column).astype(np.float64) for column in (sums, sizes))
    return urn_of_kinds(sums, sizes, np.ones(len(sums), dtype=np.int64))


def urn_of_kinds(sums: Floats, sizes: Floats, counts: NDArray[np.int64]) -> Urn:
    """The clusters of which there are `counts` (n,) with these sums and sizes; the same kind may stand more than once."""
    order = np.lexsort((sizes, sums))
    sums, sizes = sums[order], sizes[order]
    first = np.flatnonzero(np.r_[True, (np.diff(sums) != 0) | (np.diff(sizes) != 0)][: len(sums)])
    return Urn(sums[first], sizes[first], np.add.reduceat(counts[order], first) if len(first) else counts)


def wilson(successes: ArrayLike, n: ArrayLike, *, confidence: float = CONFIDENCE) -> Interval:
    """The score interval of a binomial rate, without continuity correction; n = 0 gives NaN.

    `successes` and `n` broadcast. Equal to scipy's `binomtest(...).proportion_ci(method="wilson")`.
    For scores between 0 and 1 that are not all 0 or 1, with their sum as `successes`, it is conservative:
    no such score has a larger variance than a rate of the same mean.
    Source: Wilson (1927), JASA 22(158), eq. 5.
    """
    k = np.asarray(successes, dtype=np.float64)
    count = np.asarray(n, dtype=np.float64)
    z2 = NormalDist().inv_cdf(0.5 + confidence / 2) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = k / count
        centre = (rate + z2 / (2 * count)) / (1 + z2 / count)
        half = np.sqrt(z2 * (rate * (1 - rate) / count + z2 / (4 * count**2))) / (1 + z2 / count)
    low = np.where(k == 0, np.where(count == 0, np.nan, 0.0), centre - half)
    high = np.where((k == count) & (count > 0), 1.0, centre + half)
    return Interval(low, np.where(count == 0, np.nan, high))


def bootstrap(
    values: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """The expanded percentile interval of the mean of `values` (n,), resampling whole clusters.

    `clusters` (n,) labels what is drawn together (repeats of a case, turns of a dialog); without it every
    value is its own cluster. Fewer than two clusters, or clusters of one mean, give NaN: the data say
    nothing of their own spread. Plain percentiles are too narrow where clusters are few; these lie as much
    further out as Student's interval does. Above 1,000 clusters the normal interval stands in, as both agree.
    Sources: Efron & Tibshirani (1993), chapter 13; Hesterberg (2015), The American Statistician 69(4), 371-386.
    """
    return _bootstrap(urn_of(values, clusters), confidence, draws, seed)


def _bootstrap(urn: Urn, confidence: float, draws: int, seed: int) -> Interval:
    if urn.n < 2 or np.ptp(urn.sums / urn.sizes) <= SLACK:  # noqa: PLR2004
        return Interval(np.array(np.nan), np.array(np.nan))
    if urn.n > DRAWN_UP_TO:
        return _normal(urn, confidence)
    means = _resampled_means(urn, draws, np.random.default_rng(seed))
    tail = _expanded_tail(urn.n, confidence)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(np.array(low), np.array(high))


def _expanded_tail(n: int, confidence: float) -> float:
    """The share of resamples beyond each end: that of a normal as far out as Student's t of n clusters."""
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(confidence, n - 1))


def _resampled_means(urn: Urn, draws: int, rng: np.random.Generator) -> Floats:
    """The mean of each of `draws` resamples of the clusters.

    Equal clusters are drawn as one multinomial count where they are many: most scores take few values.
    """
    n, few = urn.n, len(urn.counts) * _EQUAL_ENOUGH < urn.n
    sums, sizes = (np.repeat(column, urn.counts) for column in (urn.sums, urn.sizes))
    alike = bool(sizes[0] == sizes.max() == sizes.min())
    block = max(1, 2_000_000 // (len(urn.counts) if few else n))
    means = []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        if few:
            picks = rng.multinomial(n, urn.counts / n, size=size)
            means.append(picks @ urn.sums / (picks @ urn.sizes))
        else:
            rows = rng.integers(0, n, size=(size, n), dtype=np.uint16)
            whole = n * sizes[0] if alike else np.take(sizes, rows).sum(axis=1)
            means.append(np.take(sums, rows).sum(axis=1) / whole)
    return np.concatenate(means)


def _normal(urn: Urn, confidence: float) -> Interval:
    """The normal interval of a ratio of sums."""
    errors = (urn.sums - urn.mean * urn.sizes) ** 2
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * math.sqrt(float((errors * urn.counts).sum()))
    return Interval(np.array(urn.mean - half / urn.n_values), np.array(urn.mean + half / urn.n_values))


def mean_interval(
    values: ArrayLike, *, is_rate: bool, clusters: ArrayLike | None = None, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """The interval of a mean by the method that fits: Wilson for rates, the bootstrap for the rest.

    Where a case was repeated, `clusters` (n,) makes it one draw, rates too. Where the bootstrap cannot
    tell, scores between 0 and 1 get the conservative Wilson interval over the clusters, others null: no
    interval is ever of zero width.
    """
    data = np.asarray(values, dtype=np.float64)
    proper = len(data) > 0 and data.min() >= 0 and data.max() <= 1
    return interval_of(urn_of(data, clusters), is_rate=is_rate, proper=bool(proper), confidence=confidence)


def interval_of(
    urn: Urn, *, is_rate: bool, proper: bool, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """As `mean_interval`, of clusters that are counted already; `proper` where all values lie between 0 and 1."""
    if not (is_rate and urn.n == urn.n_values):
        interval = _bootstrap(urn, confidence, DRAWS, SEED)
        if not np.isnan(interval.low):
            return float(interval.low), float(interval.high)
    if not urn.n or not proper:
        return None, None
    interval = wilson(urn.mean * urn.n, urn.n, confidence=confidence)
    return float(interval.low), float(interval.high)
