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
from evalkit.writing import draft
from evalkit.writing.disk import storing

__all__ = ["ROWS", "write"]


ROWS = 16_384
"""Rows of a row group; only the last may have fewer."""


def write(tables: Iterable[pa.Table], path: Path, *, schema: pa.Schema, rows: int = ROWS) -> None:
    """Put the tables at `path` as one, in groups of `rows` rows, of which no more than one is held: zstd, no times,
    no paths; readable by any Parquet 2 reader.

    What was written is read back and found to hold the schema and all rows before it takes its place.
    StorageError where it does not, or where the disk refuses; an older file is then as it was.
    """
    with draft(path) as descriptor, open(descriptor, "r+b", closefd=False) as file:
        with storing(path):
            n = _write(file, tables, schema, rows)
            file.flush()
        _check(path, pq.ParquetFile(file), n, schema)


def _write(sink: Any, tables: Iterable[pa.Table], schema: pa.Schema, rows: int) -> int:
    n = 0
    with pq.ParquetWriter(sink, schema, compression="zstd", version="2.6", data_page_version="1.0") as writer:
        for group in _groups(tables, rows):
            writer.write_table(group, row_group_size=rows)
            n += len(group)
    return n


def _groups(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows, so many that each table is a row group."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        while sum(map(len, held)) >= rows:
            whole = pa.concat_tables(held)
            yield whole.slice(0, rows).combine_chunks()
            held = [whole.slice(rows)]
    if any(map(len, held)):
        yield pa.concat_tables(held).combine_chunks()


def _check(path: Path, footer: pq.ParquetFile, rows: int, schema: pa.Schema) -> None:
    if footer.metadata.num_rows != rows or not footer.schema_arrow.equals(schema, check_metadata=True):
        raise StorageError(
            f"{path}: found {footer.metadata.num_rows} rows when read back, wanted {rows} rows of "
            "the same schema; nothing was written. Try again, and report it if it stays."
        )
