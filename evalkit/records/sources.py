"""What records come from: a source gives all of them in batches of columns, and any one again from its place."""

from __future__ import annotations

import mmap
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from io import IOBase
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa

from evalkit.contracts import EvalRecord, asked
from evalkit.errors import BadData, Fault, StorageError
from evalkit.reading import Line, Reading, fit, parse
from evalkit.reading.columnar import cells, is_table, parts, parts_of
from evalkit.reading.sources import decoded, kind_of
from evalkit.records.batch import Batch
from evalkit.records.held import HeldFile
from evalkit.records.lines import BLOCK_BYTES, LEARN_AFTER, line_batches
from evalkit.records.tables import table_batches

__all__ = ["FileSource", "Lines", "Source", "Table", "TableFile", "source_at"]

_LET_GO = 4_096
"""One of so many rows that is asked for lets go of the memory of those before."""

_AT_ONCE = 64
"""Rows of a table that are taken out together: who asks for one asks for the next."""


class Source(ABC):
    """Records of one origin, by whose `name` faults are told."""

    name: str | Path

    def batches(self, reading: Reading[EvalRecord], *, rejecting: bool = False) -> Iterator[Batch]:
        """All records, a batch at a time, in the order of their lines or rows.

        What is no record is put into `reading`, as by `reading.read`: faults, blank lines, a torn end, with
        `rejecting` the bad ones, and why the rest could not be read; its items stay empty. Raises NoInput where
        nothing can be read.
        """
        try:
            yield from self._read(reading, rejecting=rejecting)
        except BadData as end:
            reading.end(end.faults)

    @abstractmethod
    def record(self, number: int, offset: int, size: int) -> EvalRecord:
        """The record at that place; StorageError where there is none any more."""

    @abstractmethod
    def _read(self, reading: Reading[EvalRecord], *, rejecting: bool) -> Iterator[Batch]:
        """As `batches`, raising BadData where it cannot go on."""

    def _unchanged(self, item: EvalRecord | list[Fault]) -> EvalRecord:
        """The record; StorageError where what was one when it was read first is none any more."""
        if isinstance(item, list):
            raise StorageError(f"{self.name}: changed while it was read ({item[0]}); try again.")
        return item


class FileSource(Source):
    """Records on file, which stays open and the same for as long as somebody holds this; it `holds` lines, or rows."""

    holds = "lines"

    def __init__(self, path: Path) -> None:
        """The records of the file at `path`; NoInput where it cannot be opened."""
        self.name = path
        self.file = HeldFile(path)


class Lines(FileSource):
    """Lines of JSON, as they are or compressed."""

    def __init__(self, path: Path, *, learn_after: int = LEARN_AFTER, block_bytes: int = BLOCK_BYTES) -> None:
        """The records of the lines at `path`, so many bytes at once; forms are learned after `learn_after` bytes."""
        super().__init__(path)
        self._packed = kind_of(path) != "lines"
        self._sizes = {"learn_after": learn_after, "block_bytes": block_bytes}

    def record(self, number: int, offset: int, size: int) -> EvalRecord:
        """The record of that line; out of compressed data, the text is put aside when the first is asked for."""
        raw = os.pread(self._text, size, offset)
        item = self._unchanged(parse(self.file.path, Line(number, offset, raw, ended=True), EvalRecord))
        return asked(item, item.model_fields_set)

    @cached_property
    def _text(self) -> int:
        """The descriptor of the text."""
        return self.file.aside(self._unpack) if self._packed else self.file.descriptor

    def _unpack(self, out: IO[bytes]) -> None:
        with decoded(self.file.path) as text:
            shutil.copyfileobj(text, out)

    def _read(self, reading: Reading[EvalRecord], *, rejecting: bool) -> Iterator[Batch]:
        return line_batches(self.file.path, reading, rejecting=rejecting, **self._sizes)


class Table(Source):
    """Rows of a table in memory."""

    def __init__(self, table: pa.Table, name: str | Path) -> None:
        """The records of the table, which goes by that name."""
        self.name = name
        self._table = table
        self._out: tuple[int, list[dict[str, Any]]] = (-1, [])

    def record(self, number: int, offset: int, size: int) -> EvalRecord:  # noqa: ARG002 - places of lines
        """The record of that row."""
        block, place = divmod(number - 1, _AT_ONCE)
        if self._out[0] != block:
            self._out = block, cells(self._table.slice(block * _AT_ONCE, _AT_ONCE))
        item = self._unchanged(fit(self._out[1][place], EvalRecord, path=str(self.name), line=number))
        return asked(item, item.model_fields_set | set(self._table.schema.names))

    def _read(self, reading: Reading[EvalRecord], *, rejecting: bool) -> Iterator[Batch]:
        return table_batches(self.name, parts_of(self.name, self._table), reading, rejecting=rejecting)


class TableFile(FileSource):
    """Rows of a Parquet or Arrow file."""

    holds = "rows"

    def record(self, number: int, offset: int, size: int) -> EvalRecord:
        """The record of that row; all are put aside, as they can be found again, when the first is asked for."""
        data, rows = self._rows
        if number % _LET_GO == 0:
            data.madvise(mmap.MADV_DONTNEED)  # what was looked at would stay in memory
        return rows.record(number, offset, size)

    @cached_property
    def _rows(self) -> tuple[mmap.mmap, Table]:
        data = mmap.mmap(self.file.aside(self._unpack), 0, access=mmap.ACCESS_READ)
        return data, Table(pa.ipc.open_stream(pa.py_buffer(data)).read_all(), self.file.path)

    def _unpack(self, out: IO[bytes]) -> None:
        read = parts(self.file.path)
        first = next(read)  # there is one: somebody asks for a row
        with pa.ipc.new_stream(pa.PythonFile(cast("IOBase", out), mode="w"), first.batch.schema) as writer:
            for part in chain([first], read):
                writer.write_batch(part.batch)

    def _read(self, reading: Reading[EvalRecord], *, rejecting: bool) -> Iterator[Batch]:
        return table_batches(self.file.path, parts(self.file.path), reading, rejecting=rejecting)


def source_at(path: Path) -> FileSource:
    """What the file at `path` is, by its first bytes; NoInput where it cannot be read."""
    return TableFile(path) if is_table(path) else Lines(path)
