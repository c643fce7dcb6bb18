"""Where records stand in a file of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Places"]


class Places(NamedTuple):
    """`numbers` of lines from 1, `offsets` and `sizes` of their bytes, the line's end apart; (n,) each."""

    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def taken(self, rows: NDArray[np.int64]) -> Places:
        """Those of these rows, in this order."""
        return Places(*(column[rows] for column in self))

    @classmethod
    def joined(cls, parts: Sequence[Places]) -> Places:
        """The places of several batches, one after the other."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
