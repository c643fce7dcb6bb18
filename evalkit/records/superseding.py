"""Which records of a run count where a sample stands in it twice, found without holding the names of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts.record import sample_key
from evalkit.records.columnar import Columns
from evalkit.records.hashed import Hashed

__all__ = ["Seen", "keys_of", "newest"]

Rows = NDArray[np.int64]


class Seen:
    """What is remembered of each record: the hash of its key, and whether its answer is ok."""

    def __init__(self) -> None:
        """Nothing was seen yet."""
        self._keys = Hashed()

    def add(self, columns: Columns) -> None:
        """See some more records, in their order."""
        self._keys.add(keys_of(columns), np.array(columns.values("answer_status")) == "ok")

    def kept(self, keys: Callable[[Rows], Sequence[str]]) -> Rows | None:
        """The row of each sample that counts, in the order of the samples' first appearance; None: all as they are.

        `keys` tells the keys of the few rows whose hashes are alike.
        """
        twice = self._keys.twice()
        if not len(twice):
            return None
        rows, answered = self._keys.of(twice)
        first = newest(keys(rows), answered.tolist())
        order = np.arange(len(self._keys))
        order[rows] = -1
        order[rows[list(first)]] = rows[list(first.values())]
        found: Rows = order[order >= 0]
        return None if len(found) == len(order) else found


def keys_of(columns: Columns) -> list[str]:
    """The identity of each sample, in order."""
    ids = columns.values("sample_id")
    if not columns.numbers("repeat").any() and not columns.contains("sample_id", ["#"]).any():
        return ids
    return [sample_key(name, repeat) for name, repeat in zip(ids, columns.values("repeat"), strict=True)]


def newest(keys: Sequence[str], answered: Sequence[bool]) -> dict[int, int]:
    """For the first row of each sample the row that counts: the newest whose answer is ok, else the newest."""
    first: dict[str, int] = {}
    kept: dict[int, int] = {}
    for row, key in enumerate(keys):
        place = first.setdefault(key, row)
        if place not in kept or answered[row] or not answered[kept[place]]:
            kept[place] = row
    return kept
