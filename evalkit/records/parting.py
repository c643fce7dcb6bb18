"""A run part by part: as many records at a time as fit, read from its columns on file."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.errors import StorageError
from evalkit.reading import Intake
from evalkit.reading.sources import is_stream
from evalkit.records.hashed import Hashed
from evalkit.records.lazy import SourceRows
from evalkit.records.loading import BEYOND_ARROW
from evalkit.records.sealed import DAMAGE, Sealed, apart
from evalkit.records.sealing import columns_of
from evalkit.records.sources import FileSource, source_at
from evalkit.records.table import Records, load

__all__ = ["OnFile", "on_file", "parts"]

_ROWS = 32_768
"""Records of a part, where nobody says how many: a few times what a worker holds beside them."""


class OnFile:
    """A run whose records stay on file until they are asked for."""

    def __init__(self, source: FileSource, columns: Sealed) -> None:
        """The run with its columns."""
        self.path, self.columns = source.file.path, columns
        self._source = source

    def __reduce__(self) -> tuple[Callable[..., OnFile], tuple[Path, Path, dict[str, Any]]]:
        """Another process, wherever it stands, opens both files itself.

        StorageError there where the columns are others by then, or none.
        """
        return _reopened, (self.path.absolute(), self.columns.path.absolute(), self.columns.head)

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.columns)

    def between(self, start: int, stop: int) -> Records:
        """The records from `start` to before `stop`."""
        return self._records(self.columns.rows(start, stop))

    def at(self, rows: NDArray[np.int64]) -> Records:
        """The records at these rows, in this order."""
        return self._records(self.columns.taken(rows))

    def where(self, start: int, stop: int) -> str:
        """The file, and between which of its lines or rows some records stand: `run.jsonl, lines 1 to 4096`."""
        numbers = self.columns.rows(start, stop, ["@numbers"])["@numbers"].to_numpy()
        return f"{self.path}, {self._source.holds} {numbers.min()} to {numbers.max()}"

    def pairs(self, first: str, second: str) -> set[tuple[str, str]]:
        """The different texts that two columns of texts have in one record, where both are given."""
        found: set[tuple[str, str]] = set()
        for table in self._columns(first, second):
            distinct = table.group_by([first, second]).aggregate([]).to_pylist()
            found.update((row[first], row[second]) for row in distinct if row[first] and row[second])
        return found

    @cached_property
    def cases(self) -> NDArray[np.int32] | None:
        """The number of the case of each record, in order of first appearance; None where no case stands twice."""
        hashed = Hashed()
        for ids in self._ids():
            hashed.add(ids)
        if not len(hashed.twice()):
            return None
        numbers: dict[str, int] = {}
        parts = (
            np.array([numbers.setdefault(one, len(numbers)) for one in ids], dtype=np.int32)
            for ids in self._ids()
        )
        return np.concatenate([*parts])

    def _ids(self) -> Iterator[list[Any]]:
        return (table["sample_id"].to_pylist() for table in self._columns("sample_id"))

    def _columns(self, *names: str) -> Iterator[pa.Table]:
        for start in range(0, len(self), _ROWS):
            yield self.columns.rows(start, min(start + _ROWS, len(self)), names)

    def _records(self, table: pa.Table) -> Records:
        columns, places = apart(table)
        return Records(SourceRows(self._source, places), columns=columns)


def _reopened(path: Path, columns: Path, head: dict[str, Any]) -> OnFile:
    with contextlib.suppress(*DAMAGE):
        found = Sealed(columns)
        if found.head == head:
            return OnFile(source_at(path), found)
    raise StorageError(f"{columns}: changed while it was read; try again.")


def on_file(path: Path, intake: Intake) -> OnFile | None:
    """The run at `path`; None where its records cannot stay on file: it can be read only once, or has half a
    surrogate pair, or a number, which no column can hold. Raises as `load`.
    """
    if is_stream(path):
        return None
    with contextlib.suppress(*BEYOND_ARROW):
        source = source_at(path)
        return OnFile(source, columns_of(source, intake))
    return None


def parts(path: str | PathLike[str], *, intake: Intake | None = None, rows: int = _ROWS) -> Iterator[Records]:
    """The records of a run as consecutive tables of `rows` records, the last of as many as are left.

    Together they are what `load` gives. A run is read from columns on file, a part at a time; one that cannot be
    (`on_file`) is read whole first. Raises as `load`.
    """
    taken = intake or Intake()
    run = on_file(Path(path), taken)
    if run is not None:
        yield from (run.between(start, min(start + rows, len(run))) for start in range(0, len(run), rows))
        return
    whole = load(path, intake=taken)
    yield from (Records(whole[start : start + rows]) for start in range(0, len(whole), rows))
