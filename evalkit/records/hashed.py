"""Texts as eight bytes each, on file: which of them stand there twice is found without holding them all."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evalkit.writing.disk import storing

__all__ = ["Hashed"]

Whole = NDArray[np.int64]
Marks = NDArray[np.bool_]

_AT_ONCE = 1 << 20
"""So many hashes are sorted at once, and as many are held before a file is made."""

_PIECE = 1 << 17


class Hashed:
    """The hashes of texts in their order, each with a mark; equal ones are most likely, not surely, of one text."""

    def __init__(self, *, at_once: int = _AT_ONCE) -> None:
        """Nothing is there yet; `at_once` are sorted at a time."""
        self._at_once = at_once
        self._file = tempfile.SpooledTemporaryFile(max_size=8 * at_once)  # noqa: SIM115 - ours to close
        weakref.finalize(self, self._file.close)
        self._n = 0

    def __len__(self) -> int:
        """How many texts there are."""
        return self._n

    def add(self, texts: Sequence[str], marks: Marks | None = None) -> None:
        """Some more texts, with their marks (n,), which are false where none are given."""
        hashes = np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts)) & ~1
        with storing(Path(tempfile.gettempdir())):
            self._file.write((hashes if marks is None else hashes | marks).tobytes())
        self._n += len(texts)

    def twice(self) -> Whole:
        """The hashes that several texts have, without their marks."""
        shares = -(-self._n // self._at_once)
        found = [np.zeros(0, dtype=np.int64)]
        for share in range(shares):
            mine = [piece[(piece >> 1) % shares == share] & ~1 for piece in self._pieces()]
            in_order = np.sort(np.concatenate(mine))
            found.append(np.unique(in_order[1:][in_order[1:] == in_order[:-1]]))
        return np.concatenate(found)

    def of(self, hashes: Whole) -> tuple[Whole, Marks]:
        """The places of the texts that have these hashes, from 0 and in order, and their marks."""
        rows, marks, start = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.bool_)], 0
        for piece in self._pieces():
            places = np.flatnonzero(np.isin(piece & ~1, hashes))
            rows.append(places + start)
            marks.append(piece[places] % 2 == 1)
            start += len(piece)
        return np.concatenate(rows), np.concatenate(marks)

    def _pieces(self) -> Iterator[Whole]:
        self._file.seek(0)
        while data := self._file.read(8 * _PIECE):
            yield np.frombuffer(data, dtype=np.int64)
