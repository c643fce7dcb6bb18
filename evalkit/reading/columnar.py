"""Parquet and Arrow row by row: what a line of JSON would have said, without what JSON could not say.

A table has every column in every row, so that null in it is what absence is in a line: nothing was given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.errors import BadData, Fault, NoInput, shown
from evalkit.reading.sources import kind_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Part", "Row", "cells", "columns_of", "is_table", "parts", "parts_of", "rows_of"]

_ROWS = 4096
_ROWS_IN_MEMORY = 1 << 16
_BUFFER = 1 << 18
_TABLES = {"Parquet", "Arrow", "Arrow stream"}


class Part(NamedTuple):
    """Some rows of a table, one after the other: the number of the first, from 1, and their columns."""

    number: int
    batch: pa.RecordBatch

    def pieces(self, rows: int = _ROWS) -> Iterator[Part]:
        """The same in parts of at most so many rows."""
        for start in range(0, self.batch.num_rows, rows):
            yield Part(self.number + start, self.batch.slice(start, rows))


class Row(NamedTuple):
    """One row: its number from 1, its cells by column without those that are null, and what cannot stand."""

    number: int
    cells: dict[str, Any]
    faults: list[Fault]


def is_table(path: Path) -> bool:
    """Whether the file is Parquet or Arrow, by its first bytes; NoInput where it cannot be read."""
    return kind_of(path) in _TABLES


def columns_of(path: Path) -> frozenset[str]:
    """The names of the columns; BadData where the file is damaged or two columns share a name."""
    with _opened(path) as (schema, _):
        return frozenset(schema.names)


def parts(path: Path) -> Iterator[Part]:
    """The rows of a Parquet or Arrow file in parts of at most some thousand, each validated.

    Raises BadData where the file is damaged, cut, or has two columns of one name: the rows before were given.
    """
    number = 1
    with _opened(path) as (_, batches):
        while (batch := _next(path, batches, number)) is not None:
            yield from Part(number, batch).pieces()
            number += batch.num_rows


def parts_of(name: str | Path, table: pa.Table) -> Iterator[Part]:
    """The rows of a table in memory, in large parts; raises as `parts`, in the table's `name`."""
    _refuse_twice(name, table.schema)
    number, batches = 1, iter(table.to_batches())
    while (batch := _next(name, batches, number)) is not None:
        yield from Part(number, batch).pieces(_ROWS_IN_MEMORY)
        number += batch.num_rows


def rows_of(name: str | Path, part: Part, places: Sequence[int] | None = None) -> Iterator[Row]:
    """The rows of a part, all or those at some `places` from 0: a map is an object, a struct one without its nulls.

    Raises BadData where a cell cannot be had, in the name of the table.
    """
    chosen = range(part.batch.num_rows) if places is None else places
    with _mending(name, part.number):
        found = cells(part.batch) if places is None else _cells_at(part.batch, places)
    for place, given in zip(chosen, found, strict=True):
        number = part.number + place
        faults = [
            Fault(str(name), number, column, odd, "a finite number or null")
            for column, cell in given.items()
            if (odd := _not_finite(cell))
        ]
        yield Row(number, given, faults)


def cells(part: pa.RecordBatch | pa.Table) -> list[dict[str, Any]]:
    """What each row says, by column, as JSON would have it."""
    arrays: Sequence[Any] = part.columns
    columns = {
        field.name: [_plain(cell, field.type) for cell in column.to_pylist()]
        for field, column in zip(part.schema, arrays, strict=True)
    }
    return [
        {name: given for name, column in columns.items() if (given := column[place]) is not None}
        for place in range(part.num_rows)
    ]


def _cells_at(batch: pa.RecordBatch, places: Sequence[int]) -> list[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and few files need it

    try:
        return cells(batch.take(pa.array(places, pa.int64())))
    except pa.ArrowNotImplementedError:  # there are types of which Arrow cannot take some
        every = cells(batch)
        return [every[place] for place in places]


def _next(name: str | Path, batches: Iterator[pa.RecordBatch], number: int) -> pa.RecordBatch | None:
    with _mending(name, number):
        batch = next(batches, None)
        if batch is not None:
            batch.validate(full=True)  # offsets and UTF-8 are whatever the file says
        return batch


def _plain(cell: Any, kind: pa.DataType) -> Any:
    """A cell as JSON would have it."""
    from pyarrow import types  # noqa: PLC0415 - heavy, and few files need it

    if cell is None or not types.is_nested(kind):
        return cell
    if types.is_map(kind):
        if twice := [key for key, n in Counter(key for key, _ in cell).items() if n > 1]:
            raise ValueError(f"the key {shown(twice[0])} twice")
        return {key: _plain(value, kind.item_type) for key, value in cell}
    if types.is_struct(kind):
        return {
            field.name: _plain(cell[field.name], field.type) for field in kind if cell[field.name] is not None
        }
    if types.is_union(kind):
        raise ValueError("a union")
    return [_plain(item, kind.value_type) for item in cell]


def _not_finite(cell: Any) -> str | None:
    """The number in a cell that JSON has no way to write; null where there is none."""
    if isinstance(cell, float):
        return None if math.isfinite(cell) else str(cell)
    inner = cell.values() if isinstance(cell, dict) else cell if isinstance(cell, list) else ()
    return next(filter(None, map(_not_finite, inner)), None)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    """The columns and the batches of the file."""
    with _source(path) as (schema, batches):
        _refuse_twice(path, schema)
        yield schema, batches


def _refuse_twice(name: str | Path, schema: pa.Schema) -> None:
    with _mending(name, 1):
        names = Counter(schema.names)
    if twice := [column for column, n in names.items() if n > 1]:
        found = f"the column {shown(twice[0])} twice"
        raise BadData([Fault(str(name), 1, "file", found, "each column once")])


@contextmanager
def _source(path: Path) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
    import pyarrow as pa  # noqa: PLC0415 - heavy, and few files need it
    import pyarrow.parquet as pq  # noqa: PLC0415

    kind = kind_of(path)
    try:
        file = pa.OSFile(str(path), "rb")
    except OSError as error:
        raise NoInput(f"{path}: cannot be read ({error}), wanted a file to read.") from None
    with file:
        with _mending(path, 1):
            if kind == "Parquet":
                # As it is read by default, all that is compressed is in memory before the first row is.
                table = pq.ParquetFile(file, pre_buffer=False, buffer_size=_BUFFER)
                schema, batches = table.schema_arrow, table.iter_batches(batch_size=_ROWS)
            elif kind == "Arrow":
                found = pa.ipc.open_file(file)
                schema = found.schema
                batches = (found.get_batch(place) for place in range(found.num_record_batches))
            else:
                stream = pa.ipc.open_stream(file)
                schema, batches = stream.schema, iter(stream)
        yield schema, batches


@contextmanager
def _mending(name: str | Path, number: int) -> Iterator[None]:
    """What the file's own reader refuses, told as a fault of the row that could not be had."""
    import pyarrow as pa  # noqa: PLC0415 - heavy, and few files need it

    try:
        yield
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        found = f"damaged data ({shown(str(error).partition(chr(10))[0])})"
        raise BadData(
            [Fault(str(name), number, "file", found, "a whole file; what comes after is unread")]
        ) from None
