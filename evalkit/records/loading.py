"""Where records come from: files of lines and of tables, and tables in memory."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from evalkit.contracts import EvalRecord, asked
from evalkit.errors import BadData
from evalkit.reading import Intake, Reading
from evalkit.reading.columnar import parts_of
from evalkit.reading.files import take_rows
from evalkit.reading.sources import is_stream, kind_of
from evalkit.records.batch import Places
from evalkit.records.columnar import Columns
from evalkit.records.lazy import SourceRows
from evalkit.records.sealed import apart
from evalkit.records.sealing import columns_of
from evalkit.records.sources import Source, Table, source_at
from evalkit.records.superseding import newest

__all__ = ["BEYOND_ARROW", "Loaded", "from_file", "from_table", "in_memory"]

ROWS_UP_TO = 8 << 20
"""Files of fewer bytes of text are read as rows: what a form takes to learn would be more than it saves."""

BEYOND_ARROW = (UnicodeEncodeError, OverflowError)
"""What is raised for half a surrogate pair, and for an integer of more than 64 bits."""

_DENSE = 8
"""How much larger than a compressed file, or a table, lines are; about."""


class Loaded(NamedTuple):
    """What records are made of: the rows, their columns where there are some, and what was left out."""

    rows: Sequence[EvalRecord]
    columns: Columns | None
    superseded: int
    torn: int


def from_file(
    path: str | PathLike[str], *, intake: Intake | None = None, rows_up_to: int = ROWS_UP_TO
) -> Loaded:
    """The records of a run's file, ours or one written by others with only the fields it has.

    The file is JSONL, also out of gzip or zstd, or Parquet or Arrow, of which every column counts as mentioned.
    A torn last line is left out and counted in `torn`. Where a sample stands twice, the newest whose
    answer is ok (else the newest) is kept, the others are counted in `superseded`. A line that mentions
    no field of a channel and no status of it has that channel `skipped`: it was never asked.
    Raises NoInput, or BadData naming every bad line, unless the `intake` rejects them; it then has the counts.
    """
    place, taken = Path(path), intake or Intake()
    if not is_stream(place) and _size(place) > rows_up_to:
        with contextlib.suppress(*BEYOND_ARROW):
            return _by_columns(place, taken)
    reading = taken.read(place, EvalRecord, torn_tail=True)
    rows = [asked(record, record.model_fields_set | reading.columns) for record in reading.items]
    kept = newest([row.key for row in rows], [row.answer_status == "ok" for row in rows])
    return Loaded([rows[row] for row in kept.values()], None, len(rows) - len(kept), reading.torn)


def _size(path: Path) -> int:
    """The bytes of the file, or about as many as it would have as lines."""
    kind = kind_of(path)
    return path.stat().st_size * (1 if kind == "lines" else _DENSE)


def _by_columns(path: Path, intake: Intake) -> Loaded:
    source = source_at(path)
    found = columns_of(source, intake)
    columns, places = apart(found.table())
    return Loaded(SourceRows(source, places), columns, found.superseded, found.counts.torn)


def from_table(table: pa.Table) -> Loaded:
    """The records of an Arrow table in memory, of which every column counts as mentioned and a null as not given.

    BadData naming each row that does not hold.
    """
    source, reading = Table(table, "table"), Reading[EvalRecord]()
    try:
        columns = [batch.columns for batch in source.batches(reading)]
        found = in_memory(source, columns)
    except BEYOND_ARROW:
        reading = Reading()
        take_rows(reading, source.name, parts_of(source.name, table), EvalRecord, rejecting=False)
        rows = [asked(row, row.model_fields_set | set(table.schema.names)) for row in reading.items]
        found = Loaded(rows, None, 0, 0)
    if reading.faults:
        raise BadData(reading.faults)
    return found


def in_memory(source: Source, columns: Sequence[pa.Table]) -> Loaded:
    """The records of a source each of whose rows is one: as rows, and as these columns, piece by piece."""
    n = sum(map(len, columns))
    rows = SourceRows(source, Places.of(np.arange(1, n + 1)))
    return Loaded(rows, Columns(pa.concat_tables(columns)) if n else None, 0, 0)
