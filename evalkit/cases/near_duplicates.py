"""Texts that say the same in nearly the same characters: bigram sets whose Jaccard index is high.

An exact join by prefix filtering: two sets so alike share one of their few rarest bigrams, so only the
texts that share a rare bigram are compared. Source: Chaudhuri, Ganti & Kaushik (2006), ICDE.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

__all__ = ["Pair", "near_duplicates", "plain"]

_MOST_COMPARED = 1_000
_SLACK = 1e-9


class Pair(NamedTuple):
    """Two texts by their places, the earlier first, and the Jaccard index of their bigrams."""

    first: int
    second: int
    similarity: float


def near_duplicates(texts: Sequence[str], *, threshold: float = 0.85) -> list[Pair]:
    """Each text that is like an earlier one, with the earliest such text; `threshold` is the least index.

    Texts are compared as `plain` leaves them; what is then empty is like nothing. The work is bounded: of
    the texts that share rare bigrams with it, a text is compared with the 1,000 earliest.
    """
    grams = [_grams(plain(text)) for text in texts]
    counts = Counter(gram for each in grams for gram in each)
    index: defaultdict[str, list[int]] = defaultdict(list)
    pairs = []
    for place, each in enumerate(grams):
        rare = _rarest(each, counts, threshold)
        near = sorted({other for gram in rare for other in islice(index[gram], _MOST_COMPARED)})
        found = next(_alike(grams, near, place, threshold), None)
        pairs += [found] if found else []
        # Whatever is like a text with the same bigrams is like the earlier one too.
        for gram in rare if found is None or found.similarity < 1 else ():
            index[gram].append(place)
    return pairs


def plain(text: str) -> str:
    """The text in compatibility form, case folded, without spaces, punctuation, symbols and invisibles."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")


def _grams(text: str) -> frozenset[str]:
    """The bigrams of the text; one character is its own."""
    return frozenset(map("".join, pairwise(text))) or frozenset(text)


def _rarest(grams: frozenset[str], counts: Counter[str], threshold: float) -> list[str]:
    """The bigrams of which any set so alike must share one, in an order that all sets agree upon."""
    kept = len(grams) - math.ceil(threshold * len(grams) - _SLACK) + 1
    return sorted(grams, key=lambda gram: (counts[gram], gram))[:kept]


def _alike(
    grams: Sequence[frozenset[str]], near: Sequence[int], place: int, threshold: float
) -> Iterator[Pair]:
    mine = grams[place]
    for other in near:
        shared = len(mine & grams[other])
        similarity = shared / (len(mine) + len(grams[other]) - shared)
        if similarity >= threshold:
            yield Pair(other, place, similarity)
