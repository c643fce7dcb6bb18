"""Texts that say the same in nearly the same characters: bigram sets whose Jaccard index is high.

A join by prefix filtering: two sets so alike share several of their few rarest bigrams, so only texts that
share rare bigrams are compared. Source: Wang, Li & Feng (2012), SIGMOD, the l-prefix scheme.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Pair", "near_duplicates", "plain"]

_MOST_COMPARED = 1_000
_SLACK = 1e-9


class Pair(NamedTuple):
    """Two texts by their places, the earlier first, and the Jaccard index of their bigrams."""

    first: int
    second: int
    similarity: float


def near_duplicates(texts: Sequence[str], *, threshold: float = 0.85) -> list[Pair]:
    """Each text that is like an earlier one, with the earliest that is the same, else that is like it.

    Texts are compared as `plain` leaves them; what is then empty is like nothing. `threshold` is the least
    index. The work is bounded: of the texts that have one rare bigram, the 1,000 earliest are looked at.
    """
    grams = [_grams(plain(text)) for text in texts]
    first: dict[frozenset[str], int] = {}
    places = [first.setdefault(each, place) for place, each in enumerate(grams)]
    rare = _rarest({place: each for each, place in first.items() if each}, threshold)
    postings = _postings(rare)
    pairs = []
    for place, same in enumerate(places):
        if not grams[place]:
            continue
        if same != place:
            pairs.append(Pair(same, place, 1.0))
        else:
            near = _sharing(postings, rare[place], place, _shared(_least(len(grams[place]), threshold)))
            pairs += islice(_alike(grams, near, place, threshold), 1)
    return pairs


def plain(text: str) -> str:
    """The text in compatibility form, case folded, without spaces, punctuation, symbols and invisibles."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")


def _grams(text: str) -> frozenset[str]:
    """The bigrams of the text; one character is its own."""
    return frozenset(map("".join, pairwise(text))) or frozenset(text)


def _least(size: int, threshold: float) -> int:
    """How many bigrams a set of that size shares with any that is so alike, which is no smaller than that."""
    return math.ceil(threshold * size - _SLACK)


def _shared(size: int) -> int:
    """How many of its rare bigrams a set of that size must share: the more, the fewer are compared in vain."""
    return min(size, max(3, size // 16))


def _rarest(grams: Mapping[int, frozenset[str]], threshold: float) -> dict[int, list[str]]:
    """The bigrams of each set among which it shares `_shared` with any other that is so alike."""
    counts = Counter(chain.from_iterable(grams.values()))
    rare = {}
    for place, each in grams.items():
        kept = len(each) - _least(len(each), threshold) + _shared(len(each))
        rare[place] = sorted(each, key=lambda gram: (counts[gram], gram))[:kept]
    return rare


def _postings(rare: Mapping[int, list[str]]) -> dict[str, NDArray[np.int64]]:
    """The earliest places that have each rare bigram."""
    lists: defaultdict[str, list[int]] = defaultdict(list)
    for place, grams in rare.items():
        for gram in grams:
            lists[gram].append(place)
    return {gram: np.array(places[:_MOST_COMPARED], dtype=np.int64) for gram, places in lists.items()}


def _sharing(
    postings: Mapping[str, NDArray[np.int64]], rare: Sequence[str], place: int, least: int
) -> Iterable[int]:
    """The earlier places that share at least so many rare bigrams with this one."""
    found = np.concatenate([postings[gram] for gram in rare])
    return np.flatnonzero(np.bincount(found[found < place]) >= least).tolist()


def _alike(
    grams: Sequence[frozenset[str]], near: Iterable[int], place: int, threshold: float
) -> Iterator[Pair]:
    mine = grams[place]
    for other in near:
        shared = len(mine & grams[other])
        similarity = shared / (len(mine) + len(grams[other]) - shared)
        if similarity >= threshold:
            yield Pair(other, place, similarity)
