"""How sure a number is, and whether two numbers differ. Pure functions of counts and arrays.

Nothing in, null out: an interval of nothing is NaN, a test of nothing decides nothing. Whatever is drawn
is drawn from a generator with a stated seed, so the same data give the same bytes on any machine.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Interval",
    "benjamini_hochberg",
    "bootstrap",
    "holm",
    "mcnemar",
    "mean_interval",
    "nearest_rank",
    "pass_at_k",
    "pass_hat_k",
    "sign_flip",
    "wilson",
]

Floats = NDArray[np.float64]

DRAWS = 10_000
FLIP_DRAWS = 20_000
SEED = 20_260_826
SLACK = 1e-12
_EXACT_FLIPS = 16
_EQUAL_ENOUGH = 16
_MANY_CLUSTERS = 1_000


class Interval(NamedTuple):
    """Lower and upper bounds, shape of the counts they came from; NaN where there were none."""

    low: Floats
    high: Floats


def wilson(successes: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> Interval:
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
    confidence: float = 0.95,
    draws: int = DRAWS,
    seed: int = SEED,
) -> Interval:
    """The percentile interval of the mean of `values` (n,), resampling whole clusters.

    `clusters` (n,) labels what is drawn together (repeats of a case, turns of a dialog); without it every
    value is its own cluster. Fewer than two clusters, or clusters of one mean, give NaN: the data say
    nothing of their own spread. Above 1,000 clusters the normal interval stands in, as both agree.
    Source: Efron & Tibshirani (1993), chapter 13.
    """
    data = np.asarray(values, dtype=np.float64)
    labels = np.arange(len(data)) if clusters is None else np.asarray(clusters)
    _, index = np.unique(labels, return_inverse=True)
    sizes = np.bincount(index).astype(np.float64)
    drawn = np.stack([np.bincount(index, weights=data), sizes])
    if len(sizes) < 2 or np.ptp(drawn[0] / sizes) <= SLACK:  # noqa: PLR2004
        return Interval(np.array(np.nan), np.array(np.nan))
    if len(sizes) > _MANY_CLUSTERS:
        return _normal(drawn, confidence)
    means = _resampled_means(drawn, draws, np.random.default_rng(seed))
    tail = (1 - confidence) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(np.array(low), np.array(high))


def _resampled_means(clusters: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """The mean of each of `draws` resamples of clusters, given their sums and sizes as (2, n).

    Equal clusters are drawn as one multinomial count where they are many: most scores take few values.
    """
    kinds, counts = np.unique(clusters, axis=1, return_counts=True)
    n = clusters.shape[1]
    few = len(counts) * _EQUAL_ENOUGH < n
    in_order = np.repeat(kinds, counts, axis=1)
    block = max(1, 2_000_000 // (len(counts) if few else n))
    means = []
    for start in range(0, draws, block):
        size = min(block, draws - start)
        if few:
            picks = rng.multinomial(n, counts / n, size=size)
            sums, sizes = picks @ kinds[0], picks @ kinds[1]
        else:
            rows = rng.integers(0, n, size=(size, n), dtype=np.uint16)
            sums, sizes = (np.take(column, rows).sum(axis=1) for column in in_order)
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
    values: ArrayLike, *, is_rate: bool, clusters: ArrayLike | None = None, confidence: float = 0.95
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


def mcnemar(worse: int, better: int) -> float:
    """The exact two-sided p of `worse` right→wrong against `better` wrong→right flips; none gives 1.

    The binomial test of a fair coin on the discordant pairs. Source: McNemar (1947), exact form.
    """
    n = worse + better
    term = tail = 1
    for i in range(1, min(worse, better) + 1):
        term = term * (n - i + 1) // i
        tail += term
    return min(1.0, float(2 * tail / 2**n))


def sign_flip(differences: ArrayLike, *, draws: int = FLIP_DRAWS, seed: int = SEED) -> float:
    """The two-sided permutation p of paired `differences` (n,), in any order: is their mean zero? n = 0: 1.

    Exact over all sign patterns up to 16 non-zero pairs, else `draws` of them with the add-one rule; ties
    count against a difference. Source: Fisher (1935), section 21; Phipson & Smyth (2010) for add-one.
    """
    moved = np.sort(np.asarray(differences, dtype=np.float64))
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    seen = abs(moved.sum()) - SLACK * np.abs(moved).sum()
    if len(moved) <= _EXACT_FLIPS:
        signs = 1 - 2 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)
        return float(np.mean(np.abs(signs @ moved) >= seen))
    hits = int(np.count_nonzero(np.abs(_flipped_sums(moved, draws, np.random.default_rng(seed))) >= seen))
    return (hits + 1) / (draws + 1)


def _flipped_sums(moved: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """The sum of `moved` (n,) under each of `draws` random sign patterns.

    Eight signs are one random byte, and what eight values add up to under each byte is worked out once.
    """
    eights = np.zeros((math.ceil(len(moved) / 8), 8))
    eights.flat[: len(moved)] = moved
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    sums = np.zeros(draws)
    for sums_of_eight in eights @ (1 - 2 * bits).T:
        sums += sums_of_eight[np.frombuffer(rng.bytes(draws), dtype=np.uint8)]
    return sums


def holm(p: ArrayLike) -> Floats:
    """Step-down adjusted p values, shape of `p`: the family-wise error stays under the level.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * (len(raw) - np.arange(len(raw)))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p values (q), shape of `p`: the expected share of false finds stays under the level.

    Source: Benjamini & Hochberg (1995), JRSS B 57(1).
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")[::-1]
    scaled = raw[order] * len(raw) / (len(raw) - np.arange(len(raw)))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted


def nearest_rank(values: ArrayLike, q: float) -> float | None:
    """The `q` quantile of `values` (n,) as one of them; null when n is too small for it to mean anything.

    Above the median it takes 1 / (1 - q) values: 10 for p90, 20 for p95, 100 for p99. Source: Hyndman & Fan
    (1996), type 1.
    """
    data = np.sort(np.asarray(values, dtype=np.float64))
    needed = 1 if q <= 0.5 else 1 / (1 - q)  # noqa: PLR2004 - the median
    if len(data) < needed * (1 - SLACK):
        return None
    return float(data[math.ceil(q * len(data) - SLACK) - 1])


def pass_at_k(n: int, successes: int, k: int) -> float | None:
    """The chance that at least one of `k` tries out of `n` succeeds; n < k gives null.

    Source: Chen et al. (2021), arXiv 2107.03374, eq. 1.
    """
    return None if n < k else 1 - math.comb(n - successes, k) / math.comb(n, k)


def pass_hat_k(n: int, successes: int, k: int) -> float | None:
    """The chance that all `k` tries out of `n` succeed; n < k gives null.

    Source: Yao et al. (2024), arXiv 2406.12045, section 3.
    """
    return None if n < k else math.comb(successes, k) / math.comb(n, k)
