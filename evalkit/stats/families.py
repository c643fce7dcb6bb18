"""Many tests at once: p values corrected for how many there are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from evalkit.stats.drawing import Floats

__all__ = ["benjamini_hochberg", "holm"]


def holm(p: ArrayLike) -> Floats:
    """Step-down adjusted p values, shape of `p`: the family-wise error stays under the level.

    Source: Holm (1979), Scandinavian Journal of Statistics 6(2).
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    scaled = raw[order] * (len(raw) - np.arange(len(raw)))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """Adjusted p values (q), shape of `p`: the expected share of false finds stays under the level.

    Source: Benjamini & Hochberg (1995), JRSS B 57(1).
    """
    raw = np.asarray(p, dtype=np.float64)
    order = np.argsort(raw, kind="stable")[::-1]
    scaled = raw[order] * len(raw) / (len(raw) - np.arange(len(raw)))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled), 1.0)
    return adjusted
