"""Is a slice worse than the rest of the run, or could chance have put its losses there?

The cases are shuffled over the labels: how often does a slice of this size lose at least so much? Losses of 0
and 1 need no shuffling, the shares are those of Fisher's exact test, one-sided.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.stats import SEED

__all__ = ["hypergeometric_tail", "worse_than_rest"]

Floats = NDArray[np.float64]

DRAWS = 10_000
LEVELS = 64
"""Losses that are not all 0 or 1 are told apart to one part in so many; the test stays exact."""


def worse_than_rest(
    part: ArrayLike, rest: ArrayLike, *, draws: int = DRAWS, seed: int = SEED
) -> float | None:
    """The one-sided p that cases with losses `part` (m,), 0–1, lose more than those of `rest` (n,) by chance.

    Fisher's exact test where all losses are 0 or 1, else the permutation test of the sum of `part` with
    `draws` shuffles and the add-one rule. Null where either is empty. Sources: Fisher (1935), section 21.02;
    Phipson & Smyth (2010) for add-one.
    """
    inside = np.asarray(part, dtype=np.float64)
    outside = np.asarray(rest, dtype=np.float64)
    if not len(inside) or not len(outside):
        return None
    everything = np.concatenate([inside, outside])
    if np.all((everything == 0) | (everything == 1)):
        errors = int(everything.sum())
        return hypergeometric_tail(int(inside.sum()), drawn=len(inside), errors=errors, whole=len(everything))
    return _shuffled(inside, everything, draws, seed)


def hypergeometric_tail(hits: int, *, drawn: int, errors: int, whole: int) -> float:
    """The chance of at least `hits` errors among `drawn` of `whole` cases of which `errors` are wrong."""
    least, most = max(hits, drawn + errors - whole, 0), min(drawn, errors)
    if hits <= max(drawn + errors - whole, 0):
        return 1.0
    logs = [
        _log_choose(errors, k) + _log_choose(whole - errors, drawn - k) - _log_choose(whole, drawn)
        for k in range(least, most + 1)
    ]
    return min(1.0, math.fsum(math.exp(log) for log in logs))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _shuffled(inside: Floats, everything: Floats, draws: int, seed: int) -> float:
    """How often a random part of this size loses at least as much; equal losses are drawn as one count."""
    levels = np.rint(LEVELS * everything).astype(np.int64)
    kinds, counts = np.unique(levels, return_counts=True)
    rng = np.random.default_rng(seed)
    picks = rng.multivariate_hypergeometric(counts, len(inside), size=draws, method="marginals")
    hits = int(np.count_nonzero(picks @ kinds >= np.rint(LEVELS * inside).astype(np.int64).sum()))
    return (hits + 1) / (draws + 1)
