"""Data frames: as a table of Arrow where that says the same and needs no second look, else row by row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit.contracts import EvalRecord, asked
from evalkit.errors import BadData, Fault
from evalkit.reading import fit
from evalkit.records.loading import Loaded, in_memory
from evalkit.records.sources import Table
from evalkit.records.tables import vouched

__all__ = ["from_frame"]

_NAME = "data frame"
_LISTS = (list, tuple, np.ndarray)


def from_frame(frame: Any) -> Loaded:
    """The records of a data frame, without the cells, and the members of objects, that hold nothing.

    BadData names each row that does not hold.
    """
    table = _in_arrow(frame)
    found = [] if table is None else [vouched(batch) for batch in table.to_batches()]
    if table is not None and all(sure.all() for _, sure in found):
        return in_memory(Table(table, _NAME), [columns for columns, _ in found])
    items = list(_by_row(frame))
    faults = [fault for item in items if isinstance(item, list) for fault in item]
    if faults:
        raise BadData(faults)
    return Loaded([item for item in items if not isinstance(item, list)], None, 0, 0)


def _by_row(frame: Any) -> Iterator[EvalRecord | list[Fault]]:
    for number, cells in enumerate(frame.to_dict(orient="records"), start=1):
        given = {name: _told(cell) for name, cell in cells.items() if not _is_nothing(cell)}
        item = fit(given, EvalRecord, path=_NAME, line=number)
        yield item if isinstance(item, list) else asked(item, set(cells))


def _told(cell: Any) -> Any:
    """A cell as a table would say it: what came out of Parquet has lists as arrays, and null for members left out."""
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, dict):
        return {name: _told(value) for name, value in cell.items() if value is not None}
    return [*map(_told, cell)] if isinstance(cell, list | tuple) else cell


def _in_arrow(frame: Any) -> pa.Table | None:
    """The frame as a table; None where a cell would be another in it."""
    names = [*frame.columns]
    if len(set(names)) < len(names) or not all(isinstance(name, str) for name in names):
        return None
    try:
        columns = [_column(frame[name]) for name in names]
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # what Arrow has no type for
        return None
    return None if None in columns else pa.table(columns, names=names)


def _column(cells: Any) -> Any:
    """A column of the frame in Arrow; None where its cells are neither of one plain type, nor texts, nor lists."""
    if cells.dtype != object:
        return pa.array(cells.copy(), from_pandas=True)  # numbers would stay those of the frame
    given = [None if _is_nothing(cell) else cell for cell in cells]
    kinds = {type(cell) for cell in given} - {type(None)}
    if kinds <= {str} or kinds <= {bool}:
        return pa.array(given)
    return pa.array(given) if kinds <= {*_LISTS} and not any(map(_says_null, given)) else None


def _says_null(cell: object) -> bool:
    """Whether an object in the cell has a key with null, which in Arrow would be a key that is not there."""
    if isinstance(cell, dict):
        return any(value is None or _says_null(value) for value in cell.values())
    return isinstance(cell, _LISTS) and any(map(_says_null, cell))


def _is_nothing(cell: object) -> bool:
    """Whether a cell is null: None, NaN, NaT or pandas' NA."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"}
