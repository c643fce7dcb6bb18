"""Tables as Parquet: the same table gives the same bytes, and a file is whole or not there.

The footer is read back, and schema and row count held against the table, before anything is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.errors import StorageError
from evalkit.writing import draft, replace
from evalkit.writing.disk import storing

__all__ = ["encoded", "write", "write_parts"]


_ROW_GROUP = 16_384
"""Rows of a row group; only the last may have fewer."""


def encoded(table: pa.Table) -> bytes:
    """The table as one Parquet file: zstd, no times, no paths; readable by any Parquet 2 reader."""
    sink = pa.BufferOutputStream()
    _write(sink, [table], table.schema)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def write(table: pa.Table, path: Path) -> None:
    """Put the table at `path`, after its bytes were read back and found to hold the schema and all rows.

    StorageError where they do not, or where the disk refuses; an older file is then as it was.
    """
    data = encoded(table)
    _check(path, pq.ParquetFile(pa.BufferReader(data)), table.num_rows, table.schema)
    replace(path, data)


def write_parts(tables: Iterable[pa.Table], path: Path, *, schema: pa.Schema) -> None:
    """Put the tables at `path` as one, of which no more than a row group is held; the same bytes as by `write`."""
    with draft(path) as descriptor, open(descriptor, "r+b", closefd=False) as file:
        with storing(path):
            rows = _write(file, tables, schema)
            file.flush()
        _check(path, pq.ParquetFile(file), rows, schema)


def _write(sink: Any, tables: Iterable[pa.Table], schema: pa.Schema) -> int:
    rows = 0
    with pq.ParquetWriter(sink, schema, compression="zstd", version="2.6", data_page_version="1.0") as writer:
        for group in _groups(tables):
            writer.write_table(group, row_group_size=_ROW_GROUP)
            rows += len(group)
    return rows


def _groups(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The same rows, so many that each table is a row group."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        while sum(map(len, held)) >= _ROW_GROUP:
            whole = pa.concat_tables(held)
            yield whole.slice(0, _ROW_GROUP).combine_chunks()
            held = [whole.slice(_ROW_GROUP)]
    if any(map(len, held)):
        yield pa.concat_tables(held).combine_chunks()


def _check(path: Path, footer: pq.ParquetFile, rows: int, schema: pa.Schema) -> None:
    if footer.metadata.num_rows != rows or not footer.schema_arrow.equals(schema, check_metadata=True):
        raise StorageError(
            f"{path}: found {footer.metadata.num_rows} rows when read back, wanted {rows} rows of "
            "the same schema; nothing was written. Try again, and report it if it stays."
        )
