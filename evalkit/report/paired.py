"""How far paired scores moved on average, and whether chance could do that.

Only which moves there were matters, not their order, and a set of moves and its mirror image get mirrored
answers: a comparison reads the same from both ends. Slices repeat each other's few moves, so that answers
are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evalkit.stats import Interval, bootstrap, mcnemar, sign_flip, wilson
from evalkit.stats.drawing import SLACK

__all__ = ["mean_move", "p_value", "together"]

Floats = NDArray[np.float64]

_DRAWN = 500_000
_KEPT = 4_096


def p_value(moved: Floats, *, is_rate: bool, flips: int) -> float:
    """The two-sided p of the moves (n,): exact McNemar where all are whole flips of a rate, else sign flips."""
    sizes = np.abs(moved)
    if is_rate and np.all((sizes == 0) | (sizes == 1)):
        return mcnemar(int(np.count_nonzero(moved < 0)), int(np.count_nonzero(moved > 0)))
    return _flipped(_rising(moved[moved != 0]).tobytes(), flips)


@lru_cache(maxsize=_KEPT)
def _flipped(rising: bytes, flips: int) -> float:
    return sign_flip(np.frombuffer(rising), draws=flips)


def together(moved: Floats, clusters: NDArray[np.intp] | None) -> Floats:
    """What the moves (n,) of each cluster add up to; the moves themselves where each case is its own."""
    if clusters is None:
        return moved
    sums: Floats = np.bincount(np.unique(clusters, return_inverse=True)[1], weights=moved).astype(np.float64)
    sums[np.abs(sums) <= SLACK] = 0.0
    return sums


def mean_move(
    moved: Floats, *, bounded: bool, draws: int, clusters: NDArray[np.intp] | None = None
) -> tuple[float | None, float | None]:
    """The 95 % interval of the mean move (n,), never of zero width; null where the data set no bounds.

    `clusters` (n,) are drawn whole; without them each case is.

    Where all moved alike the data show no spread. Then, for scores in 0–1 (`bounded`), Wilson bounds the
    share of cases that would move like that, and the others are taken to move as far as they can.
    """
    if not len(moved):
        return None, None
    draws = min(draws, max(1_000, _DRAWN // len(moved)))
    low, high = _of_cases(moved, draws) if clusters is None else _of_clusters(moved, draws, clusters)
    if not math.isnan(low):
        return low, high
    if not bounded or np.ptp(moved) > SLACK:
        return None, None
    n = len(moved) if clusters is None else len(np.unique(clusters))
    alike = float(wilson(n, n).low)
    middle, rest = float(moved[0]) * alike, 1 - alike
    return max(-1.0, middle - rest), min(1.0, middle + rest)


def _of_cases(moved: Floats, draws: int) -> tuple[float, float]:
    return _either_way(moved, lambda values: _drawn(np.sort(values).tobytes(), draws))


def _of_clusters(moved: Floats, draws: int, clusters: NDArray[np.intp]) -> tuple[float, float]:
    return _either_way(moved, lambda values: _ends(bootstrap(values, clusters=clusters, draws=draws)))


def _either_way(moved: Floats, drawn: Callable[[Floats], tuple[float, float]]) -> tuple[float, float]:
    """The ends for the moves, which are those of their mirror image, mirrored: what is drawn are those that rise.

    Where they neither rise nor fall, both are drawn, and the ends are those that lie further out.
    """
    total = math.fsum(moved)
    if total > 0:
        return drawn(moved)
    low, high = drawn(0.0 - moved)
    mirrored = 0.0 - high, 0.0 - low
    if total < 0:
        return mirrored
    low, high = drawn(moved)
    return min(low, mirrored[0]), max(high, mirrored[1])


@lru_cache(maxsize=_KEPT)
def _drawn(in_order: bytes, draws: int) -> tuple[float, float]:
    return _ends(bootstrap(np.frombuffer(in_order), draws=draws))


def _ends(interval: Interval) -> tuple[float, float]:
    return float(interval.low), float(interval.high)


def _rising(moved: Floats) -> Floats:
    """The moves or their mirror image, whichever of them rises, in order."""
    up, down = np.sort(moved), np.sort(0.0 - moved)
    total = math.fsum(moved)
    differs = np.flatnonzero(up != down)
    tie = bool(len(differs) and up[differs[0]] < down[differs[0]])
    return down if total < 0 or (total == 0 and tie) else up
