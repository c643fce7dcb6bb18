"""A run that was read once, kept beside it as columns: later readings need not parse its lines again.

The columns belong to the bytes that they were read from. They are put in place whole, are trusted only while
those bytes are the same and their own undamaged, and are made anew without a word where not: the file can be
deleted at any time.

Such a file is an Arrow file of batches of BATCH rows each, and after it one line of JSON that says whose columns
they are, and then the length and the checksum of that line: all of it can be written without ever going back.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import weakref
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import evalkit
from evalkit.reading import LineCounts
from evalkit.records.batch import Places
from evalkit.records.columnar import Columns
from evalkit.records.fields import COLUMNS
from evalkit.records.held import HeldFile

__all__ = ["BATCH", "DAMAGE", "LAYOUT", "SCHEMA", "Sealed", "apart", "columns_path", "ending", "kept"]

BATCH = 8_192
"""Rows of a batch; only the last may have fewer."""

SCHEMA = pa.schema([*COLUMNS.items(), *((f"@{name}", pa.int64()) for name in Places._fields)])
"""The columns of a record, and where it stands in its file."""

LAYOUT = [6, evalkit.__version__, [f"{name} {kind}" for name, kind in COLUMNS.items()]]
"""What another version of this package would read or write differently."""

_ENDING = struct.Struct("<II")
_PIECE = 1 << 20
DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error, pa.ArrowException)
"""What is raised where a file is no such file."""


class Sealed:
    """A run as columns on file: where its records stand in the run, and what became of the other lines.

    Opening reads the end of the file only, and checks nothing.
    """

    def __init__(self, path: Path, descriptor: int | None = None) -> None:
        """Open the columns, or take the `descriptor` of those that will be at `path`; one of DAMAGE where they are none.

        Whoever puts others at the path, or nothing, changes nothing here.
        """
        self.path = path
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK  # a pipe is no such file
        self._descriptor = os.open(path, flags) if descriptor is None else descriptor
        weakref.finalize(self, os.close, self._descriptor)
        size = os.fstat(self._descriptor).st_size
        length, crc = _ENDING.unpack(self._at(max(size - _ENDING.size, 0), _ENDING.size))
        self._end = size - _ENDING.size - length
        told = self._at(self._end, length) if self._end > 0 else b""
        if zlib.crc32(told) != crc:
            raise ValueError(f"{path}: the end is damaged")
        self.head: dict[str, Any] = json.loads(told)
        self.superseded = int(self.head["superseded"])
        self.counts = LineCounts(*self.head["counts"])
        self._readers: dict[tuple[str, ...], Any] = {}

    def __len__(self) -> int:
        """How many records there are."""
        return int(self.head["rows"])

    def is_whole(self) -> bool:
        """Whether these are columns as this version writes them, and undamaged."""
        crc, start = 0, 0
        while start < self._end:
            piece = self._at(start, min(_PIECE, self._end - start))
            crc, start = zlib.crc32(piece, crc), start + len(piece)
        return bool(self.head["layout"] == LAYOUT and self.head["crc32"] == crc)

    def table(self) -> pa.Table:
        """All columns, mapped into memory."""
        data = pa.py_buffer(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ))
        return pa.ipc.open_file(data.slice(0, self._end)).read_all()

    def rows(self, start: int, stop: int, names: Sequence[str] = ()) -> pa.Table:
        """The columns of some rows, all or those named, read into memory."""
        reader = self._reader(tuple(names))
        batches = [reader.get_batch(number) for number in range(start // BATCH, -(-stop // BATCH))]
        found = pa.Table.from_batches(batches, schema=reader.schema)
        return found.slice(start - start // BATCH * BATCH, stop - start)

    def taken(self, rows: np.ndarray[Any, np.dtype[np.int64]]) -> pa.Table:
        """The columns of these rows, in this order, read into memory batch by batch."""
        order = np.argsort(rows, kind="stable")
        numbers, starts = np.unique(rows[order] // BATCH, return_index=True)
        pieces = zip(numbers.tolist(), np.split(rows[order], starts[1:]), strict=False)
        parts = [
            self._reader(()).get_batch(number).take(pa.array(mine - number * BATCH))
            for number, mine in pieces
        ]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return pa.Table.from_batches(parts, schema=SCHEMA).combine_chunks().take(back)

    def _reader(self, names: tuple[str, ...]) -> Any:
        if names not in self._readers:
            wanted = [SCHEMA.get_field_index(name) for name in names]
            file = open(self._descriptor, "rb", buffering=0, closefd=False)  # noqa: SIM115 - ours to close
            self._readers[names] = pa.ipc.open_file(
                pa.PythonFile(file, mode="r"),
                footer_offset=self._end,
                options=pa.ipc.IpcReadOptions(included_fields=wanted or None),
            )
        return self._readers[names]

    def _at(self, offset: int, size: int) -> bytes:
        return os.pread(self._descriptor, size, offset)


def apart(table: pa.Table) -> tuple[Columns, Places]:
    """The columns of a table of SCHEMA, and where its records stand."""
    places = Places(*(table[f"@{name}"].to_numpy() for name in Places._fields))
    return Columns(table.select(list(COLUMNS))), places


def ending(head: Mapping[str, Any]) -> bytes:
    """What stands after the Arrow file."""
    told = json.dumps(head).encode()
    return told + _ENDING.pack(len(told), zlib.crc32(told))


def columns_path(run: Path) -> Path:
    """Where the columns of a run are kept."""
    return run.with_name(f".{run.name}.columns")


def kept(file: HeldFile) -> Sealed | None:
    """The columns that are kept of the file; None where there are none that belong to these very bytes."""
    try:
        found = Sealed(columns_path(file.path))
        return found if _is_of(file, found.head) and found.is_whole() else None
    except DAMAGE:
        return None


def _is_of(file: HeldFile, head: Any) -> bool:
    """Whether the columns were read from these bytes: as their times tell where they can, else as their hash does."""
    return bool(head["settled"] and head["state"] == list(file.state())) or head["sha256"] == file.sha256()
