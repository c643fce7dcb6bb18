"""What columns are made of: codes, lists as offsets and codes, and rows by label."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Codes", "Groups", "Lists", "Ranked", "ToolCalls", "crossed", "grouped", "labelled", "locked"]

_ScalarT = TypeVar("_ScalarT", bound=np.generic)
Codes: TypeAlias = NDArray[np.int32]


class Lists(NamedTuple):
    """A column of lists of texts: row i holds `codes[offsets[i]:offsets[i + 1]]`.

    `offsets` has shape (n + 1,), `codes` (total,); `missing` (n,) is true where the list was null.
    """

    offsets: NDArray[np.int64]
    codes: Codes
    missing: NDArray[np.bool_]

    def ranked(self) -> Ranked:
        """The items of each row in their order, first occurrences only, without those that are null."""
        rows = np.repeat(np.arange(len(self.missing), dtype=np.int64), np.diff(self.offsets))
        rows, codes = rows[self.codes >= 0], self.codes[self.codes >= 0].astype(np.int64)
        _, first = np.unique(rows * (codes.max(initial=0) + 1) + codes, return_index=True)
        first.sort()
        rows, codes = rows[first], codes[first]
        return Ranked(rows, codes, np.arange(1, len(rows) + 1) - np.searchsorted(rows, rows))


class ToolCalls(NamedTuple):
    """A column of lists of calls: `names` are those of each row, list j of `arguments` is what call j was given.

    Calls are numbered through all rows. Equal arguments, key and value, have equal codes.
    """

    names: Lists
    arguments: Lists


class Ranked(NamedTuple):
    """Distinct items with their places: row `rows[j]` has the item `codes[j]` as its `ranks[j]`-th, from 1.

    All have shape (items,) and stand in order of row, then rank.
    """

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    ranks: NDArray[np.int64]


class Groups(NamedTuple):
    """Which rows carry which label: pair j says that row `rows[j]` has `labels[codes[j]]`.

    `labels` is sorted, pairs stand in the order of rows. A row without a label is in no pair, a row with several
    tags in several.
    """

    labels: tuple[str, ...]
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]


def grouped(values: Sequence[Any]) -> Groups:
    """The rows of each label of a column of texts, flags or lists of texts."""
    pairs = [(row, label) for row, value in enumerate(values) for label in _labels(value)]
    labels = sorted({label for _, label in pairs})
    places = {label: place for place, label in enumerate(labels)}
    rows = np.array([row for row, _ in pairs], dtype=np.int64)
    codes = np.array([places[label] for _, label in pairs], dtype=np.int64)
    return Groups(tuple(labels), locked(rows), locked(codes))


def labelled(rows: NDArray[np.int64], codes: NDArray[np.integer], vocabulary: Sequence[str]) -> Groups:
    """The rows of each label, from pairs of a row and the code of a label that it has, in the order of rows."""
    known, places = np.unique(codes, return_inverse=True)
    return _in_order([vocabulary[code] for code in known.tolist()], rows, places)


def crossed(parts: Sequence[Groups]) -> Groups:
    """The rows of each combination of labels that occurs, `a,b`; a comma within a label is spelled `\\,`.

    A row that has no label in one of the parts is in no pair.
    """
    spelled = [_spelled(label) for label in parts[0].labels]
    rows, codes = parts[0].rows, parts[0].codes
    for part in parts[1:]:
        left, right = _meeting(rows, part.rows)
        pairs, meet = np.unique(codes[left] * len(part.labels) + part.codes[right], return_inverse=True)
        firsts, seconds = (half.tolist() for half in np.divmod(pairs, len(part.labels) or 1))
        spelled = [f"{spelled[a]},{_spelled(part.labels[b])}" for a, b in zip(firsts, seconds, strict=True)]
        rows, codes = rows[left], meet.astype(np.int64)
    return _in_order(spelled, rows, codes)


def _in_order(labels: Sequence[str], rows: NDArray[np.int64], codes: NDArray[np.int64]) -> Groups:
    """The pairs of a row and the place of its label, once the labels are sorted."""
    order = sorted(range(len(labels)), key=labels.__getitem__)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return Groups(tuple(labels[number] for number in order), locked(rows), locked(place[codes]))


def _spelled(label: str) -> str:
    return label.replace("\\", "\\\\").replace(",", "\\,")


def _meeting(
    rows: NDArray[np.int64], others: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of equal rows in both columns, which are sorted: each with each."""
    starts = np.searchsorted(others, rows, side="left")
    counts = np.searchsorted(others, rows, side="right") - starts
    left = np.repeat(np.arange(len(rows)), counts)
    before = np.cumsum(counts) - counts
    return left, np.arange(len(left)) - before[left] + starts[left]


def _labels(value: object) -> Iterable[str]:
    """The labels in a cell, each once; null and the empty text are none."""
    cells = value if isinstance(value, (tuple, list)) else (value,)
    return dict.fromkeys(str(cell) for cell in cells if cell is not None and cell != "")


def locked(column: NDArray[_ScalarT]) -> NDArray[_ScalarT]:
    """The same array, which nobody can write to: it is shared by all who ask for the column."""
    column.setflags(write=False)
    return column
