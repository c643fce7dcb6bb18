"""How a run becomes columns on file: batch by batch, so that memory does not grow with the run."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData, StorageError
from evalkit.reading import Intake, LineCounts, Reading
from evalkit.records.batch import Batch
from evalkit.records.columnar import Columns
from evalkit.records.sealed import BATCH, LAYOUT, SCHEMA, Sealed, columns_path, ending, kept
from evalkit.records.sources import FileSource
from evalkit.records.superseding import Seen, keys_of
from evalkit.writing import draft
from evalkit.writing.disk import storing, write_all

__all__ = ["columns_of"]

_NO_COUNTS = LineCounts(0, 0, 0, 0, 0)


def columns_of(source: FileSource, intake: Intake) -> Sealed:
    """The columns of a file: those kept beside it, else made from its lines or rows.

    They are kept where every line is good and the folder takes them, elsewhere in a folder of their own that
    lives as long as they are held. Raises as `Intake.settle`; StorageError where no disk takes them.
    """
    found = kept(source.file)
    if found is not None:
        intake.counts = found.counts
        return found
    if not intake.reject:
        with contextlib.suppress(StorageError):
            return _made(_place(source.file.path), source, intake, steady=True)
    return _aside(source, intake)


def _place(run: Path) -> Path:
    """Where the columns of a run are put; StorageError where a link would have them replace another file."""
    place = columns_path(run)
    if place.is_symlink():
        raise StorageError(f"{place}: found a link, wanted a file of our own or none; remove it.")
    return place


def _aside(source: FileSource, intake: Intake) -> Sealed:
    file = source.file
    with storing(file.path):
        place = Path(tempfile.mkdtemp(prefix="evalkit-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        found = _made(place / "columns", source, intake)
        weakref.finalize(found, stack.pop_all().close)
    if intake.reject and not intake.rejected and found.head["state"] == list(file.state()):
        with (
            contextlib.suppress(StorageError),
            draft(_place(file.path)) as descriptor,
            storing(file.path),
            found.path.open("rb") as made,
        ):
            shutil.copyfileobj(made, _Sink(file.path, descriptor))
    return found


class _Sink(io.RawIOBase):
    """A descriptor to write to, with the size and the checksum of what was written.

    StorageError names the path where the disk does not take it, whoever writes.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        """Nothing is written yet; the descriptor stays its owner's."""
        self._path, self._descriptor = path, descriptor
        self.size = self.crc32 = 0

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self.size

    def write(self, data: Any) -> int:
        """Write all of it."""
        view = memoryview(data).cast("B")
        with storing(self._path):
            write_all(self._descriptor, view)
        self.size += len(view)
        self.crc32 = zlib.crc32(view, self.crc32)
        return len(view)


def _made(path: Path, source: FileSource, intake: Intake, *, steady: bool = False) -> Sealed:
    """The columns of a file, put at `path`; StorageError where it must be `steady` and was changed."""
    file, reading, seen = source.file, Reading[EvalRecord](most=BadData.shown), Seen()
    before = file.state()
    with draft(path) as descriptor:
        read = _watched(source.batches(reading, rejecting=intake.reject), seen)
        n, crc = _written(path, descriptor, map(_whole, read))
        intake.settle(file.path, reading, ok=n)
        head = {
            "layout": LAYOUT,
            "settled": file.is_settled(),
            "state": before,
            "sha256": file.sha256(),
            "counts": intake.counts or _NO_COUNTS,
            "crc32": crc,
            "rows": n,
            "superseded": 0,
        }
        _end(path, descriptor, head)
        found = _newest(Sealed(path, os.dup(descriptor)), seen, descriptor)
        if steady and file.state() != before:
            raise StorageError(f"{file.path}: changed while it was read; try again.")
    return found


def _watched(read: Iterable[Batch], seen: Seen) -> Iterator[Batch]:
    for batch in read:
        seen.add(Columns(batch.columns))
        yield batch


def _newest(every: Sealed, seen: Seen, descriptor: int) -> Sealed:
    """The columns with those records only that count, in place of all of them, before anybody sees them."""
    rows = seen.kept(lambda rows: keys_of(Columns(every.taken(rows))))
    if rows is None:
        return every
    with storing(every.path), tempfile.TemporaryFile(dir=every.path.parent) as out:
        pieces = (every.taken(rows[start : start + BATCH]) for start in range(0, len(rows), BATCH))
        n, crc = _written(every.path, out.fileno(), pieces)
        _end(every.path, out.fileno(), {**every.head, "rows": n, "crc32": crc, "superseded": len(every) - n})
        os.ftruncate(descriptor, os.lseek(descriptor, 0, os.SEEK_SET))
        out.seek(0)
        shutil.copyfileobj(out, _Sink(every.path, descriptor))
    return Sealed(every.path, os.dup(descriptor))


def _written(path: Path, descriptor: int, tables: Iterable[pa.Table]) -> tuple[int, int]:
    """Write the tables as one Arrow file of even batches; how many rows they have, and the checksum."""
    sink, n = _Sink(path, descriptor), 0
    with pa.ipc.new_file(pa.PythonFile(sink, mode="w"), SCHEMA) as writer:
        for batch in _even(tables):
            writer.write_batch(batch)
            n += len(batch)
    return n, sink.crc32


def _even(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of BATCH rows."""
    held: list[pa.Table] = []
    n = 0
    for table in tables:
        held.append(table)
        n += len(table)
        while n >= BATCH:
            whole = pa.concat_tables(held)
            yield _one(whole.slice(0, BATCH))
            held, n = [whole.slice(BATCH)], n - BATCH
    if n:
        yield _one(pa.concat_tables(held))


def _one(table: pa.Table) -> pa.RecordBatch:
    (batch,) = table.combine_chunks().to_batches()
    return batch


def _whole(batch: Batch) -> pa.Table:
    """The columns with where they stand beside them."""
    columns: Sequence[Any] = [*batch.columns.columns, *(pa.array(column) for column in batch.places)]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _end(path: Path, descriptor: int, head: Mapping[str, Any]) -> None:
    with storing(path):
        write_all(descriptor, ending(head))
