"""N-grams that two texts share, counted for a batch of pairs at once, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.metrics.text.tokens import Tokens

__all__ = ["Overlap", "overlap"]

_Ints = NDArray[np.int64]


class Overlap(NamedTuple):
    """Counts of n-grams, all of shape (orders, pairs): in the first texts, in the second, in both.

    An n-gram that stands a times in one and b times in the other is min(a, b) times in both.
    """

    first: _Ints
    second: _Ints
    both: _Ints


def overlap(tokens: Tokens, orders: int) -> Overlap:
    """The n-grams of 1 to `orders` tokens; texts 2i and 2i + 1 are the i-th pair."""
    totals = np.maximum(tokens.sizes - np.arange(orders)[:, np.newaxis], 0)
    return Overlap(totals[:, ::2], totals[:, 1::2], _both(tokens, orders))


def _both(tokens: Tokens, orders: int) -> _Ints:
    """Order by order; only where an n-gram is shared can a longer one begin that is shared too."""
    found = np.zeros((orders, len(tokens.sizes) // 2), dtype=np.int64)
    text = np.repeat(np.arange(len(tokens.sizes)), tokens.sizes)
    pair, second = text >> 1, text & 1
    left = np.cumsum(tokens.sizes)[text] - np.arange(len(text))
    base = int(tokens.codes.max(initial=0)) + 1
    at, grams = np.arange(len(text)), pair
    for n in range(orders):
        grams, at = _sorted(grams * base + tokens.codes[at + n], at)
        starts = np.flatnonzero(np.concatenate((grams[:1] >= 0, grams[1:] != grams[:-1])))
        sizes = np.diff(starts, append=len(grams))
        matched = _matched(second[at], starts, sizes)
        found[n] = np.bincount(pair[at[starts]], weights=matched, minlength=found.shape[1])
        shared = np.repeat(matched > 0, sizes) & (left[at] > n + 1)
        at, grams = at[shared], np.repeat(np.arange(len(starts)), sizes)[shared]
    return found


def _sorted(grams: _Ints, at: _Ints) -> tuple[_Ints, _Ints]:
    """Both in the order of the n-grams: as one number each where 63 bits hold it, which is the quicker way."""
    bits = int(at.max(initial=0)).bit_length()
    if int(grams.max(initial=0)) >> (63 - bits):
        order = np.argsort(grams)
        return grams[order], at[order]
    both = np.sort(grams << bits | at)
    return both >> bits, both & ((1 << bits) - 1)


def _matched(second: _Ints, starts: _Ints, sizes: _Ints) -> _Ints:
    """How many of each run of equal n-grams find a partner in the other text."""
    seconds = np.diff(np.concatenate(([0], np.cumsum(second)))[starts + sizes], prepend=0)
    matched: _Ints = np.minimum(seconds, sizes - seconds)
    return matched
