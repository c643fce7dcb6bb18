"""A score column: one number for each record that counts, nothing for each that does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.contracts import EvalRecord
from evalkit.records import Records
from evalkit.slices.kinds import Kinds

__all__ = ["RowScore", "Scores", "checked", "marked"]

RowScore: TypeAlias = Callable[[EvalRecord], "float | None"]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


class Scores:
    """A score column: `values` (n,) float64, meaningful where `counted` (n,) bool is true."""

    def __init__(self, values: ArrayLike, counted: ArrayLike, kinds: Kinds | None = None) -> None:
        """The column; with `kinds`, what each of the kinds scores and whether it counts, both (kinds.size,)."""
        self._values, self._counted = values, counted
        self.kinds = kinds

    @classmethod
    def of(cls, records: Sequence[EvalRecord], score: RowScore, keep: Flags | None = None) -> Scores:
        """The column of a row function; a record scored None is not counted, one outside `keep` not scored."""
        if keep is None:
            found = [score(record) for record in records]
        else:
            found = [None] * len(records)
            for row in np.flatnonzero(marked(keep, len(records))).tolist():
                found[row] = score(records[row])
        counted = np.array([value is not None for value in found], dtype=np.bool_)
        return cls(np.array([0.0 if value is None else float(value) for value in found]), counted)

    @classmethod
    def flags(cls, holds: Flags, counted: Flags) -> Scores:
        """1 where `holds`, else 0, counted where `counted`, all (n,): the column of a rate."""
        codes = np.where(counted, holds, np.int8(2))
        return cls(np.array([0.0, 1.0, 0.0]), np.array([True, True, False]), Kinds(codes, 3))

    @property
    def values(self) -> Floats:
        """The score of each record, (n,)."""
        found = np.asarray(self._values)
        return found if self.kinds is None else found[self.kinds.codes]

    @property
    def counted(self) -> Flags:
        """Whether each record counts, (n,)."""
        found = np.asarray(self._counted)
        return found if self.kinds is None else found[self.kinds.codes]

    @property
    def table(self) -> tuple[Floats, Flags]:
        """The scores and marks as they are stored: of the kinds where there are any, else of the records."""
        return np.asarray(self._values), np.asarray(self._counted)

    def at(self, row: int) -> float | None:
        """The score of that record, null where it does not count."""
        values, counted = self.table
        place = row if self.kinds is None else self.kinds.codes[row]
        return float(values[place]) if counted[place] else None

    def where(self, keep: Flags) -> Scores:
        """The same scores, counted only where `keep` is true as well."""
        values, counted = self.values, self.counted
        return Scores(values, marked(counted, len(values)) & marked(keep, len(values)))


def marked(marks: ArrayLike, n: int) -> Flags:
    """One true or false a record: as indices, 0 and 1 would pick the first two rows over and over."""
    found = np.asarray(marks)
    if found.shape != (n,):
        raise ValueError(f"found marks of shape {found.shape} for {n} records, wanted one each")
    if not n or found.dtype == np.bool_:
        return found.astype(np.bool_, copy=False)
    odd = [mark for mark in found.tolist() if type(mark) not in (bool, int) or mark not in (0, 1)]
    if odd:
        raise ValueError(f"found the mark {odd[0]!r}, wanted true or false, or 1 or 0, for each record")
    return found.astype(np.bool_)


def checked(records: Records, scores: Scores) -> Scores:
    """The scores as floats and flags. Nothing is not zero, and it is not NaN either: one would hide all others.

    ValueError for a score that counts and is not finite, or where there is not one for each record.
    """
    values, counted = scores.table
    n = len(values) if scores.kinds is None else len(scores.kinds.codes)
    if len(records) != n or len(counted) != len(values):
        sizes = f"{len(scores.values)} scores, {len(scores.counted)} marks"
        raise ValueError(f"found {sizes} for {len(records)} records, wanted one each")
    found = Scores(values.astype(np.float64, copy=False), marked(counted, len(values)), scores.kinds)
    values, counted = found.table
    if not np.isfinite(values[counted]).all():
        _refuse_odd(records, found)
    return found


def _refuse_odd(records: Records, scores: Scores) -> None:
    values = scores.values
    for row in np.flatnonzero(scores.counted & ~np.isfinite(values))[:1]:
        found = f"the score {values[row]} of sample {records.keys[row]!r}"
        raise ValueError(f"found {found}, wanted a finite number, or None where it does not count")
