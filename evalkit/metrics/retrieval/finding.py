"""At which places the wanted documents stand: rankings as the columns of small matrices, many at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Lists

__all__ = ["BITS", "Found", "found"]

Whole: TypeAlias = NDArray[np.int64]
_Matrix: TypeAlias = NDArray[np.int32]
_Marks: TypeAlias = NDArray[np.bool_]

BITS = 52
"""How many places one word marks, a bit each: as many as a float sums exactly."""

_CELLS = 2**17
_NARROW = 32
_NO_DOCUMENT, _NO_WISH = -1, -2


class Found(NamedTuple):
    """What the scores of each record depend on, all zero where it was not asked for.

    `words` has shape (words, n): bit b of word w says that a wanted document stands at the place
    `w * BITS + b`, from 0, among the distinct ones. `found`, `wanted` and `retrieved` (n,) count distinct ids.
    """

    words: Whole
    found: Whole
    wanted: Whole
    retrieved: Whole


def found(
    retrieved: Lists, golds: Sequence[Sequence[Lists]], *, rows: Whole, depth: int
) -> tuple[Found, ...]:
    """For each of `golds`, which are wanted together: where its documents stand in each of `rows`.

    Places from `depth` on are counted in `found` and marked nowhere.
    """
    n = len(retrieved.missing)
    wide = min(depth, int(np.diff(retrieved.offsets).max(initial=0)))
    shape = (3 + -(-wide // BITS), n)
    tables = [np.zeros(shape, dtype=np.int64) for _ in golds]
    for batch in _batches(retrieved, golds[-1], rows):
        ranking = _distinct_first(_padded(retrieved, batch, _NO_DOCUMENT))
        for table, lists in zip(tables, golds, strict=True):
            wishes = np.concatenate([_padded(column, batch, _NO_WISH) for column in lists])
            table[:, batch] = _measured(ranking, wishes, wide)
    return tuple(Found(table[3:], *table[:3]) for table in tables)


def _batches(retrieved: Lists, wanted: Sequence[Lists], rows: Whole) -> Iterator[Whole]:
    """The rows in batches that fit a cache, lists of about one length together."""
    sizes = np.stack([np.diff(lists.offsets)[rows] for lists in (retrieved, *wanted)])
    bits = np.frexp(sizes.astype(np.float64))[1].astype(np.int64)
    classes = (bits // 2).T @ 32 ** np.arange(len(bits))  # up to 1, 7, 31, 127, …
    order = np.argsort(classes, kind="stable")
    cells = np.cumsum(np.max(sizes, axis=0)[order] + 1)
    ends = np.flatnonzero(np.diff(classes[order]) | np.diff(cells // _CELLS)) + 1
    yield from np.split(rows[order], ends) if len(rows) else ()


def _padded(lists: Lists, rows: Whole, filler: int) -> _Matrix:
    """The list of each row as a column, as tall as the longest; null and what is missing are the filler."""
    starts = lists.offsets[rows]
    sizes = lists.offsets[rows + 1] - starts
    steps = np.arange(sizes.max(initial=0))[:, None]
    if not len(steps):
        return np.empty((0, len(rows)), dtype=np.int32)
    matrix = lists.codes.take(starts + steps, mode="clip")
    matrix[(matrix < 0) | (steps >= sizes)] = filler
    return matrix


def _repeats(matrix: _Matrix) -> _Marks:
    """Where a column says what it said further up."""
    again = np.zeros(matrix.shape, dtype=np.bool_)
    if len(matrix) <= _NARROW:
        for step in range(1, len(matrix)):
            again[step:] |= matrix[step:] == matrix[:-step]
        return again
    order = np.argsort(matrix, axis=0, kind="stable")
    in_order = np.take_along_axis(matrix, order, axis=0)
    np.put_along_axis(again, order[1:], in_order[1:] == in_order[:-1], axis=0)
    return again


def _distinct_first(ranking: _Matrix) -> _Matrix:
    """The distinct documents of each column in their order, then fillers: a place is a row of the matrix."""
    gone = _repeats(ranking) | (ranking < 0)
    loose = np.flatnonzero((gone[:-1] & ~gone[1:]).any(axis=0))
    ranking[gone] = _NO_DOCUMENT
    if len(loose):
        order = np.argsort(gone[:, loose], axis=0, kind="stable")
        ranking[:, loose] = np.take_along_axis(ranking[:, loose], order, axis=0)
    return ranking


def _measured(ranking: _Matrix, wishes: _Matrix, depth: int) -> Whole:
    """The counts and the words of each column, one below the other."""
    hits = np.zeros(ranking.shape, dtype=np.bool_)
    for wish in wishes:
        hits |= ranking == wish
    wanted = ((wishes >= 0) & ~_repeats(wishes)).sum(axis=0)
    marks = [hits[start : min(start + BITS, depth)] for start in range(0, depth, BITS)]
    words = [(2.0 ** np.arange(len(part)) @ part).astype(np.int64) for part in marks]
    return np.stack([hits.sum(axis=0), wanted, (ranking >= 0).sum(axis=0), *words])
