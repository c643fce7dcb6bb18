"""How sure a mean is: Wilson's interval for rates, the bootstrap for the rest."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evalkit.stats.drawing import SEED, SLACK, Floats
from evalkit.stats.student import t_quantile

__all__ = ["CONFIDENCE", "DRAWN_UP_TO", "DRAWS", "Interval", "bootstrap", "mean_interval", "wilson"]

CONFIDENCE = 0.95
DRAWS = 10_000
_EQUAL_ENOUGH = 16
DRAWN_UP_TO = 1_000
"""Of more clusters than these the normal interval stands in for the drawn one."""


class Interval(NamedTuple):
    """Lower and upper bounds, shape of the counts they came from; NaN where there were none."""

    low: Floats
    high: Floats


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
    data = np.asarray(values, dtype=np.float64)
    labels = np.arange(len(data)) if clusters is None else np.asarray(clusters)
    _, index = np.unique(labels, return_inverse=True)
    sizes = np.bincount(index).astype(np.float64)
    drawn = np.stack([np.bincount(index, weights=data), sizes])
    if len(sizes) < 2 or np.ptp(drawn[0] / sizes) <= SLACK:  # noqa: PLR2004
        return Interval(np.array(np.nan), np.array(np.nan))
    if len(sizes) > DRAWN_UP_TO:
        return _normal(drawn, confidence)
    means = _resampled_means(drawn, draws, np.random.default_rng(seed))
    tail = _expanded_tail(len(sizes), confidence)
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(np.array(low), np.array(high))


def _expanded_tail(n: int, confidence: float) -> float:
    """The share of resamples beyond each end: that of a normal as far out as Student's t of n clusters."""
    return NormalDist().cdf(-math.sqrt(n / (n - 1)) * t_quantile(confidence, n - 1))


def _resampled_means(clusters: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """The mean of each of `draws` resamples of clusters, given their sums and sizes as (2, n).

    Equal clusters are drawn as one multinomial count where they are many: most scores take few values.
    """
    kinds, counts = np.unique(clusters, axis=1, return_counts=True)
    n = clusters.shape[1]
    few = len(counts) * _EQUAL_ENOUGH < n
    in_order = np.repeat(kinds, counts, axis=1)
    alike = bool(kinds[1, 0] == kinds[1].max() == kinds[1].min())
    block = max(1, 2_000_000 // (len(counts) if few else n))
    means = []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        if few:
            picks = rng.multinomial(n, counts / n, size=size)
            sums, sizes = picks @ kinds[0], picks @ kinds[1]
        else:
            rows = rng.integers(0, n, size=(size, n), dtype=np.uint16)
            sums = np.take(in_order[0], rows).sum(axis=1)
            sizes = n * in_order[1, 0] if alike else np.take(in_order[1], rows).sum(axis=1)
        means.append(sums / sizes)
    return np.concatenate(means)


def _normal(clusters: Floats, confidence: float) -> Interval:
    """The normal interval of a ratio of sums, given the clusters' sums and sizes as (2, n)."""
    sums, sizes = clusters
    mean = sums.sum() / sizes.sum()
    error = math.sqrt(float(np.sum((sums - mean * sizes) ** 2))) / sizes.sum()
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * error
    return Interval(np.array(mean - half), np.array(mean + half))


def mean_interval(
    values: ArrayLike, *, is_rate: bool, clusters: ArrayLike | None = None, confidence: float = CONFIDENCE
) -> tuple[float | None, float | None]:
    """The interval of a mean by the method that fits: Wilson for rates, the bootstrap for the rest.

    Where a case was repeated, `clusters` (n,) makes it one draw, rates too. Where the bootstrap cannot
    tell, scores between 0 and 1 get the conservative Wilson interval over the clusters, others null: no
    interval is ever of zero width.
    """
    data = np.asarray(values, dtype=np.float64)
    units = len(data) if clusters is None else len(np.unique(np.asarray(clusters)))
    if not (is_rate and units == len(data)):
        interval = bootstrap(data, clusters=clusters, confidence=confidence)
        if not np.isnan(interval.low):
            return float(interval.low), float(interval.high)
    if len(data) == 0 or data.min() < 0 or data.max() > 1:
        return None, None
    interval = wilson(data.mean() * units, units, confidence=confidence)
    return float(interval.low), float(interval.high)
