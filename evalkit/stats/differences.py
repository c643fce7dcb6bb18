"""Whether two numbers differ: exact tests of paired scores, drawn where there are too many patterns to count."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from evalkit.stats.drawing import SEED, SLACK, Floats

__all__ = ["FLIP_DRAWS", "mcnemar", "sign_flip"]

FLIP_DRAWS = 20_000
_EXACT_FLIPS = 16


def mcnemar(worse: int, better: int) -> float:
    """The exact two-sided p of `worse` right→wrong against `better` wrong→right flips; none gives 1.

    The binomial test of a fair coin on the discordant pairs. Source: McNemar (1947), exact form.
    """
    n = worse + better
    term = tail = 1
    for i in range(1, min(worse, better) + 1):
        term = term * (n - i + 1) // i
        tail += term
    return min(1.0, float(2 * tail / 2**n))


def sign_flip(differences: ArrayLike, *, draws: int = FLIP_DRAWS, seed: int = SEED) -> float:
    """The two-sided permutation p of paired `differences` (n,), in any order: is their mean zero? n = 0: 1.

    Exact over all sign patterns up to 16 non-zero pairs, else `draws` of them with the add-one rule; ties
    count against a difference. Source: Fisher (1935), section 21; Phipson & Smyth (2010) for add-one.
    """
    moved = np.sort(np.asarray(differences, dtype=np.float64))
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    seen = abs(moved.sum()) - SLACK * np.abs(moved).sum()
    if len(moved) <= _EXACT_FLIPS:
        signs = 1 - 2 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)
        return float(np.mean(np.abs(signs @ moved) >= seen))
    hits = int(np.count_nonzero(np.abs(_flipped_sums(moved, draws, np.random.default_rng(seed))) >= seen))
    return (hits + 1) / (draws + 1)


def _flipped_sums(moved: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """The sum of `moved` (n,) under each of `draws` random sign patterns.

    Eight signs are one random byte, and what eight values add up to under each byte is worked out once.
    """
    eights = np.zeros((math.ceil(len(moved) / 8), 8))
    eights.flat[: len(moved)] = moved
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    sums = np.zeros(draws)
    for sums_of_eight in eights @ (1 - 2 * bits).T:
        sums += sums_of_eight[np.frombuffer(rng.bytes(draws), dtype=np.uint8)]
    return sums
