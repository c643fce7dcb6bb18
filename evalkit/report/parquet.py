"""Tables as Parquet: the same table gives the same bytes, and a file is whole or not there.

The footer is read back, and schema and row count held against the table, before anything is replaced.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from evalkit.errors import StorageError
from evalkit.writing import replace

__all__ = ["encoded", "write"]


def encoded(table: pa.Table) -> bytes:
    """The table as one Parquet file: zstd, no times, no paths; readable by any Parquet 2 reader."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd", version="2.6", data_page_version="1.0")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def write(table: pa.Table, path: Path) -> None:
    """Put the table at `path`, after its bytes were read back and found to hold the schema and all rows.

    StorageError where they do not, or where the disk refuses; an older file is then as it was.
    """
    data = encoded(table)
    footer = pq.ParquetFile(pa.BufferReader(data))
    if footer.metadata.num_rows != table.num_rows or not footer.schema_arrow.equals(
        table.schema, check_metadata=True
    ):
        raise StorageError(
            f"{path}: found {footer.metadata.num_rows} rows when read back, wanted {table.num_rows} rows of "
            "the same schema; nothing was written. Try again, and report it if it stays."
        )
    replace(path, data)
