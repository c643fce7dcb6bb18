"""The intervals of the means of many slices at once: in closed form where there is one, drawn where not."""

from __future__ import annotations

from functools import cached_property
from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Records
from evalkit.slices import Scores, Tally, counted_rows
from evalkit.stats import DRAWN_UP_TO, mean_interval, wilson
from evalkit.stats.drawing import SLACK

__all__ = ["Draws", "Intervals", "is_proper", "nothing_told", "told_by_sums"]

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

_Z = NormalDist().inv_cdf(0.975)


class Intervals:
    """The 95 % intervals of the means of one run's slices.

    Rates whose cases stand once have Wilson's interval, means of more than 1,000 cases that stand once the
    normal one: both follow from a tally. The rest is `mean_interval` over the scores; as only these and what
    stands together tell the interval, equal ones are drawn once.
    """

    def __init__(self, records: Records, clusters: NDArray[np.int64] | None = None) -> None:
        """The intervals over these records; those of one number in `clusters` (n,), else of a case, go together."""
        self.records = records
        self._clusters = clusters
        self._draws = Draws()

    def of(self, scores: Scores, sums: Tally, *, by: str | None, is_rate: bool) -> Floats:
        """The lower and the upper bounds as (2, slices); NaN where the scores tell none."""
        if self._repeats:
            bounds, told = nothing_told(sums)
        else:
            bounds, told = told_by_sums(sums, is_rate=is_rate, proper=is_proper(scores))
        if not told.all():
            self._draw(bounds, scores, ~told, by=by, is_rate=is_rate)
        return bounds

    @cached_property
    def _cases(self) -> NDArray[np.integer]:
        return self.records.codes("sample_id")[0] if self._clusters is None else self._clusters

    @cached_property
    def _repeats(self) -> bool:
        return len(np.unique(self._cases)) < len(self._cases)

    def _draw(self, bounds: Floats, scores: Scores, wanted: Flags, *, by: str | None, is_rate: bool) -> None:
        """Fill in the bounds of the wanted slices one by one."""
        values, members = scores.values, counted_rows(self.records, scores, by=by)
        for place in np.flatnonzero(wanted).tolist():
            rows = members[place]
            cases = self._cases[rows] if self._repeats else None
            bounds[:, place] = self._draws.interval(values[rows], cases, is_rate=is_rate)


class Draws:
    """Intervals that are drawn from the scores; equal ones once."""

    def __init__(self) -> None:
        """None was drawn yet."""
        self._drawn: dict[tuple[bytes, bytes, bool], tuple[float, float]] = {}

    def interval(
        self, values: Floats, cases: NDArray[np.integer] | None, *, is_rate: bool
    ) -> tuple[float, float]:
        """The bounds for these scores in any order, `cases` the numbers of their cases where some stand twice."""
        if cases is not None:
            in_order = np.lexsort((values, cases))
            values, clusters = values[in_order], np.cumsum(np.diff(cases[in_order], prepend=-1) != 0)
        else:
            values, clusters = np.sort(values), None
        key = (values.tobytes(), b"" if clusters is None else clusters.tobytes(), is_rate)
        if key not in self._drawn:
            low, high = mean_interval(values, is_rate=is_rate, clusters=clusters)
            self._drawn[key] = (np.nan if low is None else low, np.nan if high is None else high)
        return self._drawn[key]


def nothing_told(sums: Tally) -> tuple[Floats, Flags]:
    """The bounds of slices before anything tells them: NaN (2, slices), and none of them told (slices,)."""
    return np.full((2, len(sums.labels)), np.nan), np.zeros(len(sums.labels), dtype=np.bool_)


def told_by_sums(sums: Tally, *, is_rate: bool, proper: bool) -> tuple[Floats, Flags]:
    """The bounds (2, slices) that follow from sums alone where no case stands twice, and where that is (slices,).

    `proper` says whether all that counts is between 0 and 1.
    """
    bounds, told = nothing_told(sums)
    told |= proper if is_rate else (sums.n_counted > DRAWN_UP_TO) | (sums.deviations == 0)
    bounds[:, told] = _closed(sums, is_rate=is_rate)[:, told]
    return bounds, told


def is_proper(scores: Scores) -> bool:
    """Whether all that counts is between 0 and 1, as it is in a rate."""
    values, counted = scores.table
    return bool(((values >= 0) & (values <= 1) | ~counted).all())


def _closed(sums: Tally, *, is_rate: bool) -> Floats:
    """The bounds that follow from sums alone, (2, slices).

    Wilson's interval for rates, and for scores between 0 and 1 that are all the same; else the normal one.
    """
    n, mean = sums.n_counted, sums.means
    proper = (mean >= 0) & (mean <= 1)
    bounds = np.where(proper, wilson(np.where(proper, mean, 0.0) * n, n), np.nan)
    if is_rate:
        return bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        half = _Z * np.sqrt(sums.deviations) / n
    same = sums.deviations <= n * SLACK**2
    return np.where(same, bounds, np.stack([mean - half, mean + half]))
