"""The lines of a block of a file, as forms want them: folded, one after the other, and at known places."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.reading import Block, Line
from evalkit.reading.blocks import BOM
from evalkit.records.batch import Places
from evalkit.records.folding import folded

__all__ = ["BlockLines", "Whole"]

Whole: TypeAlias = NDArray[np.int64]

_NEWLINE, _BACKSLASH, _SPACE = b"\n\\ "
_NEVER = ord("!")
"""What no line of a form begins with."""


class BlockLines:
    """The lines of a block by their places in it, from 0; `signs` are those of its folded escapes."""

    def __init__(self, block: Block) -> None:
        """Fold the block; a line that can be of no form is made one that no form matches."""
        self._block = block
        raw, self.signs = folded(block.raw)
        low = np.flatnonzero(np.frombuffer(block.raw, dtype=np.uint8) < _SPACE).astype(np.int64)
        is_end = np.frombuffer(block.raw, dtype=np.uint8)[low] == _NEWLINE
        ends = low[is_end] + 1
        self._ends = ends if block.raw.endswith(b"\n") else np.append(ends, len(raw))
        self._starts = np.concatenate(([0], self._ends[:-1]))
        odd = {*self._of(low[~is_end]), *self._unfolded(raw), *self._no_utf8(raw)}
        self._raw = self._without(raw, odd) if odd else raw

    def __len__(self) -> int:
        """How many lines there are."""
        return len(self._ends)

    def text(self, places: Whole) -> bytes:
        """The folded lines at these places, with their ends, one after the other."""
        if len(places) == len(self):
            return self._raw
        starts, ends = self._starts[places].tolist(), self._ends[places].tolist()
        return b"".join(self._raw[start:end] for start, end in zip(starts, ends, strict=True))

    def where(self, places: Whole) -> Places:
        """Where lines that end with `\\n`, and nothing before it, stand in the file."""
        starts, ends = self._starts[places], self._ends[places]
        return Places(self._block.number + places, self._block.offset + starts, ends - starts - 1)

    def at(self, places: Whole) -> Iterator[Line]:
        """The lines at these places as they stand in the file."""
        for place in places.tolist():
            yield self._block.line(place, int(self._starts[place]), int(self._ends[place]))

    def offset(self, line: Line) -> int:
        """Where the line begins in the file, after a byte order mark."""
        return len(BOM) if not line.offset and self._block.raw.startswith(BOM) else line.offset

    def _of(self, at: Whole) -> list[int]:
        """The lines that bytes at these offsets are in."""
        found: list[int] = np.searchsorted(self._ends, at, side="right").tolist()
        return found

    def _unfolded(self, raw: bytes) -> list[int]:
        """The lines with an escape that could not be folded."""
        if b"\\" not in raw:
            return []
        return self._of(np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == _BACKSLASH))

    def _no_utf8(self, raw: bytes) -> list[int]:
        if _is_utf8(raw):
            return []
        return [place for place, line in enumerate(self._block.lines()) if not _is_utf8(line.raw)]

    def _without(self, raw: bytes, odd: Iterable[int]) -> bytes:
        data = np.frombuffer(raw, dtype=np.uint8).copy()
        data[self._starts[list(odd)]] = _NEVER
        return data.tobytes()


def _is_utf8(raw: bytes) -> bool:
    try:
        pa.array([raw], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True
