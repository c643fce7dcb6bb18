"""Whether two numbers differ: exact tests of paired scores, drawn where there are too many patterns to count."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from evalkit.stats.drawing import SEED, SLACK, Floats

__all__ = ["FLIP_DRAWS", "mcnemar", "sign_flip"]

FLIP_DRAWS = 20_000
_EXACT_FLIPS = 16
_ENOUGH_HITS = 1_000
_BLOCK = 2_000
_EQUAL_ENOUGH = 200
_AT_ONCE = 512

_Flipper: TypeAlias = Callable[[int, np.random.Generator], Floats]


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

    Exact over all sign patterns up to 16 non-zero pairs, else at most `draws` of them: with the 1,000th that is
    as far out the p is known well enough and the drawing ends, else the add-one rule holds. Ties count
    against a difference. Sources: Fisher (1935), section 21; Besag & Clifford (1991), Biometrika 78(2), for the
    end; Phipson & Smyth (2010) for add-one.
    """
    moved = np.sort(np.asarray(differences, dtype=np.float64))
    moved = moved[moved != 0]
    if len(moved) == 0:
        return 1.0
    seen = abs(moved.sum()) - SLACK * np.abs(moved).sum()
    if len(moved) <= _EXACT_FLIPS:
        signs = 1 - 2 * ((np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved))) & 1)
        return float(np.mean(np.abs(signs @ moved) >= seen))
    return _drawn_p(moved, seen, draws, np.random.default_rng(seed))


def _drawn_p(moved: Floats, seen: float, draws: int, rng: np.random.Generator) -> float:
    """The share of drawn sign patterns whose sum is as far from 0 as `seen`; never 0."""
    flipped = _flipper(moved)
    hits = 0
    for start in range(0, draws, _BLOCK):
        size = min(_BLOCK, draws - start)
        far = np.flatnonzero(np.abs(flipped(size, rng)) >= seen)
        if hits + len(far) >= _ENOUGH_HITS:
            return _ENOUGH_HITS / (start + int(far[_ENOUGH_HITS - hits - 1]) + 1)
        hits += len(far)
    return (hits + 1) / (draws + 1)


def _flipper(moved: Floats) -> _Flipper:
    """What draws sums of `moved` (n,) under random signs: by size where few sizes are many, else by eights."""
    sizes, counts = np.unique(np.abs(moved), return_counts=True)
    if len(sizes) * _EQUAL_ENOUGH < len(moved):
        return lambda draws, rng: (2 * rng.binomial(counts, 0.5, size=(draws, len(counts))) - counts) @ sizes
    table = _sums_of_eight(moved)

    def flipped(draws: int, rng: np.random.Generator) -> Floats:
        sums = np.zeros(draws)
        for start in range(0, len(table), _AT_ONCE):
            some = table[start : start + _AT_ONCE]
            signs = np.frombuffer(rng.bytes(draws * len(some)), dtype=np.uint8).reshape(len(some), draws)
            for sums_of_eight, picked in zip(some, signs, strict=True):
                sums += sums_of_eight[picked]
        return sums

    return flipped


def _sums_of_eight(moved: Floats) -> Floats:
    """What each eight values of `moved` (n,) add up to under each byte of signs: (n / 8, 256)."""
    eights = np.zeros((math.ceil(len(moved) / 8), 8))
    eights.flat[: len(moved)] = moved
    bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    sums: Floats = eights @ (1 - 2 * bits).T
    return sums
