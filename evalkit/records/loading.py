"""Where records come from: files of lines and tables, and data frames."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evalkit.contracts import EvalRecord, asked
from evalkit.errors import BadData, Fault
from evalkit.reading import Intake, fit
from evalkit.reading.sources import is_stream, kind_of
from evalkit.records.columnar import Columns
from evalkit.records.lazy import SourceRows
from evalkit.records.sealed import apart
from evalkit.records.sealing import columns_of
from evalkit.records.sources import source_at
from evalkit.records.superseding import newest

__all__ = ["NOT_IN_ARROW", "Loaded", "from_file", "from_frame"]

ROWS_UP_TO = 8 << 20
"""Files of fewer bytes of text are read as rows: what a form takes to learn would be more than it saves."""

NOT_IN_ARROW = (UnicodeEncodeError, OverflowError)
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
        with contextlib.suppress(*NOT_IN_ARROW):
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


def from_frame(frame: Any) -> list[EvalRecord]:
    """The rows of a data frame, without the cells that hold nothing; BadData naming each that does not hold."""
    rows: list[EvalRecord] = []
    faults: list[Fault] = []
    for number, cells in enumerate(frame.to_dict(orient="records"), start=1):
        # Parquet gives lists back as arrays.
        lists = {name: cell.tolist() for name, cell in cells.items() if isinstance(cell, np.ndarray)}
        given = {name: cell for name, cell in cells.items() if not _is_nothing(cell)} | lists
        item = fit(given, EvalRecord, path="data frame", line=number)
        if isinstance(item, list):
            faults.extend(item)
        else:
            rows.append(asked(item, set(cells)))
    if faults:
        raise BadData(faults)
    return rows


def _is_nothing(cell: object) -> bool:
    """Whether a cell is null: None, NaN, NaT or pandas' NA."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"}
