"""What every drawn number shares: the seed, so that the same data give the same bytes on any machine."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["SEED", "SLACK"]

Floats: TypeAlias = NDArray[np.float64]

SEED = 20_260_826
"""The seed of every drawn interval and test; outputs that show one name it."""

SLACK = 1e-12
"""Sums that are so near to each other are the same sum in another order."""
