"""How many cases it takes: what a set of a given size can show, and what size shows what is wanted."""

from __future__ import annotations

import math
from statistics import NormalDist

from evalkit.stats import wilson

__all__ = ["cases_for_difference", "cases_for_width", "detectable_difference", "smallest_p"]

_POWER_80 = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.80)


def smallest_p(pairs: int) -> float:
    """The smallest two-sided p that `pairs` differing pairs can reach: what so few cases could ever show."""
    return min(1.0, 2.0 ** (1 - pairs))


def detectable_difference(n: int, *, discordant: float) -> float | None:
    """The smallest true difference that `n` pairs show 4 times in 5 at the 5 % level; n = 0 gives null.

    `discordant` is the share of pairs that differ (for scores that are not 0 or 1: the variance of the
    differences). Source: Miller (2024), arXiv 2411.00640, section 5.
    """
    return _POWER_80 * math.sqrt(discordant / n) if n else None


def cases_for_difference(difference: float, *, discordant: float) -> int | None:
    """How many pairs it takes to see that `difference` 4 times in 5 at the 5 % level; 0 gives null."""
    return math.ceil(discordant * (_POWER_80 / difference) ** 2) if difference else None


def cases_for_width(rate: float, width: float, *, confidence: float = 0.95) -> int:
    """How many cases make the Wilson interval of that `rate` no wider than `width`."""
    low, high = 1, 2
    while _width(rate, high, confidence) > width:
        low, high = high, high * 2
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _width(rate, middle, confidence) <= width else (middle + 1, high)
    return low


def _width(rate: float, n: int, confidence: float) -> float:
    interval = wilson(rate * n, n, confidence=confidence)
    return float(interval.high - interval.low)
