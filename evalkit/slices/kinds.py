"""Records that score alike are of one kind: a family scores each kind once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Groups
from evalkit.slices.exact import Cells

__all__ = ["Kinds"]

Whole = NDArray[np.int64]

_SPARSE = 4
"""How many cells a dense count may have for each row."""

_LARGEST = 2**62


class Kinds:
    """Which of a few kinds each record is: rows of one kind have the same score in each metric of a family.

    `codes` (n,) are whole numbers from 0 below `size`. How many of each kind a slice has is counted once for
    all columns that share the kinds.
    """

    def __init__(self, codes: NDArray[np.integer], size: int) -> None:
        """The kinds of all records, in order."""
        self.codes = codes
        self.size = size
        self._cells: dict[int, tuple[Groups | None, Cells]] = {}

    @classmethod
    def alike(cls, columns: Sequence[Whole]) -> tuple[Kinds, Whole]:
        """One kind for all rows that agree in all columns, whole numbers from 0; and one row of each kind."""
        key, span = np.zeros_like(columns[0]), 1
        for column in columns:
            size = int(column.max(initial=0)) + 1
            if span * size > _LARGEST:
                (key, span), (column, size) = _dense(key), _dense(column)  # noqa: PLW2901 - the same, smaller
            key, span = key * size + column, span * size
        if span > _SPARSE * len(key):
            key, span = _dense(key)
        last = np.full(span, -1)
        last[key] = np.arange(len(key))
        there = last >= 0
        return cls((np.cumsum(there, dtype=np.int32) - 1)[key], int(there.sum())), last[there]

    def cells(self, groups: Groups | None) -> Cells:
        """How many rows of each kind each group has; all rows are one group where there are none."""
        known = self._cells.get(id(groups))
        if known is None:  # the groups are kept beside, so that no others can get their id
            self._cells[id(groups)] = known = (groups, self._counted(groups))
        return known[1]

    def _counted(self, groups: Groups | None) -> Cells:
        size, pairs = 1, self.codes
        if groups is not None:
            size, pairs = len(groups.labels), groups.codes * self.size + self.codes[groups.rows]
        if size * self.size <= _SPARSE * len(pairs) + self.size:
            counts = np.bincount(pairs, minlength=1)
            found = np.flatnonzero(counts)
            counts = counts[found]
        else:
            found, counts = np.unique(pairs, return_counts=True)
        slices, places = np.divmod(found.astype(np.int64), self.size or 1)
        return Cells(slices, places, counts.astype(np.float64), size)


def _dense(column: Whole) -> tuple[Whole, int]:
    """The same distinctions with numbers as small as can be, and how many there are."""
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)
