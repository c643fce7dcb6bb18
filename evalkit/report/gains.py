"""What there is to win: how far the overall mean would rise if certain losses were mended.

Recoverable points are the losses of a part of the samples over all counted samples. Their interval is that of
the part's mean loss, scaled by its size: how many cases a part has is a choice of the eval set, how many of
them go wrong is what chance moves. Ranked by the lower end, 1 of 2 does not stand above 40 of 100.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats import Urn, interval_of, urn_of

__all__ = ["Gain", "gain", "points", "won"]

Floats = NDArray[np.float64]


class Gain(NamedTuple):
    """The rise of the overall mean (0.021 is 2.1 points) and its 95 % interval; null where nothing tells one."""

    value: float
    low: float | None
    high: float | None

    @property
    def rank(self) -> tuple[float, float]:
        """What gains are sorted by: the lower bound, largest first, then the value."""
        return -(self.low or 0.0), -self.value

    @property
    def told(self) -> str:
        """The gain in words: `+2.1 points (0.9–4.0)`."""
        if self.low is None or self.high is None:
            return f"+{points(self.value)} points"
        return f"+{points(self.value)} points ({points(self.low)}–{points(self.high)})"


def points(value: float) -> str:
    """A share as points with one decimal: 0.021 is `2.1`."""
    return f"{100 * value:.1f}"


def gain(losses: ArrayLike, *, whole: int, cases: ArrayLike) -> Gain:
    """The gain of mending all `losses` (n,) of a part, 0–1 each, in a mean over `whole` samples.

    `cases` (n,) names the case of each, so that repeats of a case are one draw. No losses: a gain of nothing.
    """
    lost = np.asarray(losses, dtype=np.float64)
    drawn = urn_of(lost, np.asarray(cases)) if len(lost) else urn_of(())
    return won(drawn, math.fsum(lost), is_rate=_is_rate(lost), whole=whole)


def won(drawn: Urn, lost: float, *, is_rate: bool, whole: int) -> Gain:
    """The gain of mending all that is `lost` by the samples that are drawn, 0–1 each, in a mean over `whole` samples."""
    if not drawn.n_values or not whole:
        return Gain(0.0, None, None)
    low, high = interval_of(drawn, is_rate=is_rate, proper=True)
    if low is None or high is None:
        return Gain(lost / whole, None, None)
    scale = drawn.n_values / whole
    return Gain(lost / whole, low * scale, high * scale)


def _is_rate(lost: Floats) -> bool:
    return bool(np.all((lost == 0) | (lost == 1)))
