"""A run that was read once, kept beside it as columns: later readings need not parse its lines again.

The columns belong to the bytes that they were read from. They are put in place whole, are trusted only while
those bytes are the same and their own undamaged, and are made anew without a word where not: the file can be
deleted at any time.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

import evalkit
from evalkit.errors import StorageError
from evalkit.reading import LineCounts
from evalkit.records.fields import COLUMNS
from evalkit.records.held import HeldFile
from evalkit.records.places import Places
from evalkit.writing import replace

__all__ = ["Sealed", "columns_path", "seal", "sealed"]

_LAYOUT = [3, evalkit.__version__, [f"{name} {kind}" for name, kind in COLUMNS.items()]]
"""What another version of this package would read or write differently."""

_HEAD = 1 << 16
_DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError, pa.ArrowException)


class Sealed(NamedTuple):
    """A run as columns: where its records stand in the file, and what became of the other lines."""

    columns: pa.Table
    places: Places
    superseded: int
    counts: LineCounts


def columns_path(run: Path) -> Path:
    """Where the columns of a run are kept."""
    return run.with_name(f".{run.name}.columns")


def sealed(file: HeldFile) -> Sealed | None:
    """The columns that are kept of the file; None where there are none that belong to these very bytes."""
    try:
        data = pa.memory_map(str(columns_path(file.path))).read_buffer()
        end = bytes(data[:_HEAD]).index(b"\n") + 1
        head = json.loads(bytes(data[:end]))
        if head["layout"] != _LAYOUT or not _is_of(file, head) or zlib.crc32(data[end:]) != head["crc32"]:
            return None
        table = pa.ipc.open_stream(data[end:]).read_all()
        places = Places(*(table[f"@{name}"].to_numpy() for name in Places._fields))
        return Sealed(table.select(list(COLUMNS)), places, head["superseded"], LineCounts(*head["counts"]))
    except _DAMAGE:
        return None


def _is_of(file: HeldFile, head: Any) -> bool:
    """Whether the columns were read from these bytes: as their times tell where they can, else as their hash does."""
    return bool(head["settled"] and head["state"] == list(file.state())) or head["sha256"] == file.sha256()


def seal(file: HeldFile, found: Sealed) -> None:
    """Keep the columns of the file beside it; where the disk refuses, there are none."""
    whole = found.columns
    for name, column in found.places._asdict().items():
        whole = whole.append_column(f"@{name}", pa.array(column))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, whole.schema) as writer:
        writer.write_table(whole)
    body = sink.getvalue()
    head = {
        "layout": _LAYOUT,
        "settled": file.is_settled(),
        "state": file.state(),
        "sha256": file.sha256(),
        "crc32": zlib.crc32(body),
        "superseded": found.superseded,
        "counts": found.counts,
    }
    with contextlib.suppress(StorageError):
        replace(columns_path(file.path), json.dumps(head).encode() + b"\n" + body.to_pybytes())
