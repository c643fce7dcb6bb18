"""Sums per slice, which add up over batches to the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import add

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Groups, Records
from evalkit.slices.exact import BITS_BELOW, Cells, rounded, squares, totals
from evalkit.slices.scores import Scores, checked, marked

__all__ = ["Tally", "counted_rows", "tally"]

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """Sums per slice, which add up over batches: each of shape (slices,).

    `sums` are exact, in units of 2 ** -1074. `squares`, the exact sums of the squared scores in units of 2 **
    -2148, are null where nobody asked for them.
    """

    labels: tuple[str, ...]
    n_total: Whole
    n_counted: Whole
    sums: Sequence[int]
    squares: Sequence[int] | None = None

    @cached_property
    def total(self) -> Floats:
        """The correctly rounded sum of each slice, as `math.fsum` gives it."""
        return rounded(self.sums)

    @property
    def means(self) -> Floats:
        """The mean of each slice, NaN where nothing was counted."""
        with np.errstate(invalid="ignore"):
            return self.total / np.where(self.n_counted > 0, self.n_counted, np.nan)

    @property
    def deviations(self) -> Floats:
        """The sum of the squared deviations from each slice's mean, correctly rounded; 0 where nothing counts.

        TypeError where the squares were not summed.
        """
        if self.squares is None:
            raise TypeError("found no sums of squares, wanted a tally with squared=True")
        counts = [max(n, 1) for n in self.n_counted.tolist()]
        parts = zip(counts, self.squares, self.sums, strict=True)
        exact = [n * squared - total * total for n, squared, total in parts]
        return rounded(exact, [n << (2 * BITS_BELOW) for n in counts])

    def plus(self, other: Tally) -> Tally:
        """Both together: as if the records of both had been one batch, under the labels of either."""
        if self.labels == other.labels:
            return self._added(other)
        labels = tuple(sorted({*self.labels, *other.labels}))
        place = {label: number for number, label in enumerate(labels)}
        n_total, n_counted = np.zeros((2, len(labels)), dtype=np.int64)
        sums, squared = [0] * len(labels), [0] * len(labels)
        for part in (self, other):
            places = [place[label] for label in part.labels]
            n_total[places] += part.n_total
            n_counted[places] += part.n_counted
            for number, total in zip(places, part.sums, strict=True):
                sums[number] += total
            for number, total in zip(places, part.squares or (), strict=part.squares is not None):
                squared[number] += total
        both = self.squares is not None and other.squares is not None
        return Tally(labels, n_total, n_counted, sums, squared if both else None)

    def _added(self, other: Tally) -> Tally:
        """Both together, under the same labels."""
        both = self.squares is not None and other.squares is not None
        return Tally(
            self.labels,
            self.n_total + other.n_total,
            self.n_counted + other.n_counted,
            [*map(add, self.sums, other.sums)],
            [*map(add, self.squares or (), other.squares or ())] if both else None,
        )


def tally(records: Records, scores: Scores, *, by: str | None = None, squared: bool = False) -> Tally:
    """The sums of a score per label of the column `by`; over all records, as one slice, without it.

    With `squared` the sums of the squared scores too.
    """
    scores = checked(records, scores)
    groups = None if by is None else records.groups(by)
    values, counted = scores.table
    cells = _rows(len(records), groups) if scores.kinds is None else scores.kinds.cells(groups)
    kept = cells.where(counted)
    finite = np.where(counted & np.isfinite(values), values, 0.0)
    return Tally(
        ("",) if groups is None else groups.labels,
        cells.n,
        kept.n,
        totals(finite, kept),
        squares(finite, kept) if squared else None,
    )


def counted_rows(records: Records, scores: Scores, *, by: str | None = None) -> list[Whole]:
    """The rows that went into each mean of the tally with the same arguments, in the order of its labels."""
    cells = _rows(len(records), None if by is None else records.groups(by))
    kept = cells.where(marked(scores.counted, len(records)))
    in_order = kept.places[np.argsort(kept.slices, kind="stable")]
    return np.split(in_order, np.cumsum(kept.n))[: cells.size]


def _rows(n: int, groups: Groups | None) -> Cells:
    """Each record in its slices, once."""
    if groups is None:
        return Cells(np.zeros(n, dtype=np.int64), np.arange(n, dtype=np.int64), None, 1)
    return Cells(groups.codes, groups.rows, None, len(groups.labels))
