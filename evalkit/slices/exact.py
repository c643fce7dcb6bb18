"""Exact sums of floats as whole numbers, which add up in any order and over any batches.

Every float is a whole multiple of 2 ** -1074, so a sum of floats is a whole number of that unit, and a sum of
squares one of the unit's square. Python's integers hold both exactly; what numpy adds up on the way stays
below 2 ** 53, where its floats are exact too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BITS_BELOW", "Cells", "rounded", "squares", "totals"]

Floats = NDArray[np.float64]

BITS_BELOW = 1074
"""How far below 1 the unit is: the smallest float above 0 is 2 ** -1074."""

_EXACT_BITS = 53


class Cells(NamedTuple):
    """What is summed: cell c puts the value at `places[c]` `counts[c]` times into the sum `slices[c]`.

    All have shape (cells,); there are `size` sums. `counts` are whole numbers, null for once each.
    """

    slices: NDArray[np.int64]
    places: NDArray[np.int64]
    counts: Floats | None
    size: int

    @property
    def n(self) -> NDArray[np.int64]:
        """How many values go into each sum, as (size,)."""
        found = np.bincount(self.slices, weights=self.counts, minlength=self.size)
        return found.astype(np.int64)

    def where(self, keep: NDArray[np.bool_]) -> Cells:
        """Only the cells whose place is marked in `keep`."""
        kept = keep[self.places]
        counts = None if self.counts is None else self.counts[kept]
        return Cells(self.slices[kept], self.places[kept], counts, self.size)

    def sums(self, values: Floats) -> Floats:
        """The sums of whole numbers, exact while they stay below 2 ** 53."""
        weights = values[self.places]
        weights = weights if self.counts is None else weights * self.counts
        return np.bincount(self.slices, weights, minlength=self.size).astype(np.float64, copy=False)

    def spare_bits(self) -> int:
        """How many bits a whole number may have so that no sum of them leaves what a float holds exactly."""
        n = len(self.slices) if self.counts is None else int(self.counts.sum())
        return _EXACT_BITS - n.bit_length()


def totals(values: Floats, cells: Cells) -> list[int]:
    """The exact sums of finite `values` in units of 2 ** -BITS_BELOW, one for each of `cells.size`."""
    found = [0] * cells.size
    for exponent, piece in _pieces(values, cells.spare_bits()):
        found = _added(found, cells.sums(piece), exponent + BITS_BELOW)
    return found


def squares(values: Floats, cells: Cells) -> list[int]:
    """The exact sums of their squares in units of 2 ** (-2 * BITS_BELOW)."""
    pieces = list(_pieces(values, cells.spare_bits() // 2))
    found = [0] * cells.size
    for exponent, piece in pieces:
        for other, another in pieces:
            found = _added(found, cells.sums(piece * another), exponent + other + 2 * BITS_BELOW)
    return found


def rounded(sums: Sequence[int], divisors: Sequence[int] | None = None) -> Floats:
    """The floats nearest to sums in units of 2 ** -BITS_BELOW; those of `sums / divisors` where these are given.

    OverflowError for a sum that is larger than any float.
    """
    units = [1 << BITS_BELOW] * len(sums) if divisors is None else divisors
    found = (total / unit if total else 0.0 for total, unit in zip(sums, units, strict=True))
    return np.fromiter(found, dtype=np.float64, count=len(sums))


def _pieces(values: Floats, width: int) -> Iterator[tuple[int, Floats]]:
    """The values cut into whole numbers of at most `width` bits: they are the sum of piece * 2 ** exponent."""
    rest = np.array(values, dtype=np.float64)
    while top := float(np.abs(rest).max(initial=0.0)):
        exponent = max(int(np.frexp(top)[1]) - width, -BITS_BELOW)
        piece = np.trunc(np.ldexp(rest, -exponent))
        yield exponent, piece
        rest -= np.ldexp(piece, exponent)


def _added(found: Sequence[int], sums: Floats, shift: int) -> list[int]:
    return [
        have + (int(more) << shift) if more else have for have, more in zip(found, sums.tolist(), strict=True)
    ]
