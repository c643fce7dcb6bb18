"""What repeats of a case say of its chances, and quantiles that are told only where there are values enough."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evalkit.stats.drawing import SLACK

__all__ = ["nearest_place", "nearest_rank", "pass_at_k", "pass_hat_k"]


def nearest_rank(values: ArrayLike, q: float) -> float | None:
    """The `q` quantile of `values` (n,) as one of them; null as in `nearest_place`."""
    data = np.sort(np.asarray(values, dtype=np.float64))
    place = nearest_place(len(data), q)
    return None if place is None else float(data[place])


def nearest_place(n: int, q: float) -> int | None:
    """Where the `q` quantile of `n` values stands in their order, from 0; null when n is too small for it to mean anything.

    Above the median it takes 1 / (1 - q) values: 10 for p90, 20 for p95, 100 for p99. Source: Hyndman & Fan
    (1996), type 1.
    """
    needed = 1 if q <= 0.5 else 1 / (1 - q)  # noqa: PLR2004 - the median
    return None if n < needed * (1 - SLACK) else math.ceil(q * n - SLACK) - 1


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
