"""Records whose rankings score alike are of one kind; here are the kinds, and what one record of each looks like."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evalkit.metrics.retrieval.finding import BITS, Found, Whole
from evalkit.slices import Kinds

__all__ = ["Ranks", "kinds"]


class Ranks(NamedTuple):
    """Where the wanted documents stand: document j of kind `kinds[j]` at `places[j]`, from 1, in order.

    `nth[j]` says that it is the n-th found in its kind. `found`, `wanted` and `retrieved` (kinds,) count
    distinct ids.
    """

    kinds: Whole
    places: Whole
    nth: Whole
    found: Whole
    wanted: Whole
    retrieved: Whole


def kinds(*parts: Found) -> tuple[Kinds, list[Ranks]]:
    """The kinds of records by all of `parts`, and what each part is in each kind."""
    columns = [column for part in parts for column in (*part[1:], *part.words)]
    found, first = Kinds.alike(columns)
    return found, [_ranks(part, first) for part in parts]


def _ranks(part: Found, rows: Whole) -> Ranks:
    words = np.ascontiguousarray(part.words[:, rows].T, dtype="<i8").view(np.uint8)
    of, bits = np.nonzero(
        np.unpackbits(words.reshape(len(rows), 8 * len(part.words)), axis=1, bitorder="little")
    )
    places = bits // 64 * BITS + bits % 64
    nth = np.arange(1, len(of) + 1) - np.searchsorted(of, of)
    return Ranks(of, places + 1, nth, *(counts[rows] for counts in part[1:]))
