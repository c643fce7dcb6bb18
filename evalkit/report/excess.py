"""How much of a row's errors chance does not explain: its place among what to fix first.

A row that is no worse than the rest of the run loses as much as the rest does, give or take chance. Control
charts draw two lines above that: a warning limit at two standard errors, an action limit at three. What a row
loses beyond a line is the lower bound of the points there are to win by making it as good as the rest. Rows
beyond the action limit stand first, most points beyond it first; then those beyond the warning limit, surest
first; then all others, by the lower bound of all that they lose. So a small row that is broken is not hidden
by a large one that is as good as any, and 1 of 2 does not stand above 40 of 100.
Source: Shewhart (1931), Economic Control of Quality of Manufactured Product.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Excess", "excess"]

Floats = NDArray[np.float64]

ACTION, WARNING = 3.0, 2.0


class Excess(NamedTuple):
    """How far a row is worse than the rest: in standard errors, and in points of the overall mean.

    `points` is what it loses beyond the action limit, 0 within it; `sigmas` is null where there is no rest.
    """

    points: float
    sigmas: float | None

    @property
    def rank(self) -> tuple[float, float]:
        """What rows are sorted by, before the lower bound of their gains."""
        beyond = self.sigmas is not None and self.sigmas >= WARNING
        return -self.points, -(self.sigmas or 0.0) if beyond else 0.0


def excess(part: Floats, rest: Floats, *, share: float) -> Excess:
    """The excess of cases with losses `part` (m,), 0-1 each, over those of `rest` (n,).

    `share` is the part's share of all counted samples. The standard error is that of two means of one
    population: the deviation of all losses, times √(1/m + 1/n). Nothing on either side: no excess.
    """
    if not len(part) or not len(rest):
        return Excess(0.0, None)
    above = math.fsum(part) / len(part) - math.fsum(rest) / len(rest)
    error = float(np.std(np.sort(np.concatenate([part, rest])))) * math.sqrt(1 / len(part) + 1 / len(rest))
    if error == 0:
        return Excess(0.0, 0.0)
    return Excess(max(0.0, above - ACTION * error) * share, above / error)
