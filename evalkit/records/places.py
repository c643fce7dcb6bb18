"""Where records stand in a file of lines."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Places"]


class Places(NamedTuple):
    """`numbers` of lines from 1, `offsets` and `sizes` of their bytes, the line's end apart; (n,) each."""

    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]
