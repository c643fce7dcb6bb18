"""A run part by part: as many records at a time as fit, read from its columns on file."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.reading import Intake
from evalkit.reading.sources import is_text
from evalkit.records.columnar import Columns
from evalkit.records.fields import COLUMNS
from evalkit.records.held import HeldFile
from evalkit.records.lazy import FileRows
from evalkit.records.places import Places
from evalkit.records.sealed import Sealed
from evalkit.records.sealing import columns_of
from evalkit.records.table import Records, load

__all__ = ["OnFile", "ROWS", "parts"]

ROWS = 32_768
"""Records of a part, where nobody says how many: a few times what a worker holds beside them."""


class OnFile:
    """A run whose records stay on file until they are asked for."""

    def __init__(self, path: Path, columns: Sealed) -> None:
        """The run at `path` with its columns."""
        self.path, self.columns = path, columns
        self._file = HeldFile(path)

    def __reduce__(self) -> tuple[type[OnFile], tuple[Path, Path]]:
        """Another process opens both files itself."""
        return _reopened, (self.path, self.columns.path)  # type: ignore[return-value]

    def __len__(self) -> int:
        """How many records there are."""
        return len(self.columns)

    def between(self, start: int, stop: int) -> Records:
        """The records from `start` to before `stop`."""
        return self._records(self.columns.rows(start, stop))

    def at(self, rows: NDArray[np.int64]) -> Records:
        """The records at these rows, in this order."""
        return self._records(self.columns.taken(rows))

    def _records(self, table: pa.Table) -> Records:
        places = Places(*(table[f"@{name}"].to_numpy() for name in Places._fields))
        return Records(FileRows(self._file, places), columns=Columns(table.select(list(COLUMNS))))


def _reopened(path: Path, columns: Path) -> OnFile:
    return OnFile(path, Sealed(columns))


def parts(path: str | PathLike[str], *, intake: Intake | None = None, rows: int = ROWS) -> Iterator[Records]:
    """The records of a run as consecutive tables of `rows` records, the last of as many as are left.

    Together they are what `load` gives. A run of plain lines is read from columns on file, a part at a time;
    one that is compressed, a table, or has half a surrogate pair is read whole first. Raises as `load`.
    """
    taken = intake or Intake()
    if is_text(Path(path)):
        try:
            run = OnFile(Path(path), columns_of(HeldFile(Path(path)), taken))
        except UnicodeEncodeError:  # half a surrogate pair, which Arrow cannot hold
            pass
        else:
            yield from (run.between(start, min(start + rows, len(run))) for start in range(0, len(run), rows))
            return
    whole = load(path, intake=taken)
    yield from (Records(whole[start : start + rows]) for start in range(0, len(whole), rows))
