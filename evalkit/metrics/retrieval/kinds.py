"""Records whose rankings score alike are of one kind; here are the kinds, and what one record of each looks like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.metrics.retrieval.finding import BITS, Found, Whole
from evalkit.slices import Kinds

__all__ = ["Ranks", "kinds"]

_LARGEST = 2**62
_DENSE = 4


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
    codes, first = _alike(columns)
    return Kinds(codes, len(first)), [_ranks(part, first) for part in parts]


def _ranks(part: Found, rows: Whole) -> Ranks:
    words = np.ascontiguousarray(part.words[:, rows].T, dtype="<i8").view(np.uint8)
    of, bits = np.nonzero(
        np.unpackbits(words.reshape(len(rows), 8 * len(part.words)), axis=1, bitorder="little")
    )
    places = bits // 64 * BITS + bits % 64
    nth = np.arange(1, len(of) + 1) - np.searchsorted(of, of)
    return Ranks(of, places + 1, nth, *(counts[rows] for counts in part[1:]))


def _alike(columns: Sequence[Whole]) -> tuple[NDArray[np.int32], Whole]:
    """A code for each row, the same for rows that agree in all columns, and one row of each code."""
    key, span = np.zeros_like(columns[0]), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if span * size > _LARGEST:
            (key, span), (column, size) = _dense(key), _dense(column)  # noqa: PLW2901 - the same, smaller
        key, span = key * size + column, span * size
    if span > _DENSE * len(key):
        key, span = _dense(key)
    last = np.full(span, -1)
    last[key] = np.arange(len(key))
    there = last >= 0
    return (np.cumsum(there, dtype=np.int32) - 1)[key], last[there]


def _dense(column: Whole) -> tuple[Whole, int]:
    """The same distinctions with numbers as small as can be, and how many there are."""
    values, codes = np.unique(column, return_inverse=True)
    return codes, len(values)
