"""How sure a mean is. Pure functions of counts and arrays; nothing in, null out."""

from __future__ import annotations

from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Interval", "wilson"]


class Interval(NamedTuple):
    """Lower and upper bounds, shape of the counts they came from; NaN where there were none."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]


def wilson(successes: ArrayLike, n: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """The score interval of a binomial rate, without continuity correction; n = 0 gives NaN.

    `successes` and `n` broadcast. Equal to scipy's `binomtest(...).proportion_ci(method="wilson")`.
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
