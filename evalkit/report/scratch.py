"""The samples of a run on their way to its tables: each part in a file of its own, read back column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.metrics.latency import observations
from evalkit.records import Records
from evalkit.report.sample_table import label_column
from evalkit.report.slice_table import OVERALL
from evalkit.writing import replace

__all__ = ["Scratch", "beside"]

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def beside(records: Records, dimensions: Sequence[str]) -> dict[str, pa.Array[Any]]:
    """What stands beside the samples of a part: their labels by each dimension, what was timed and cut off."""
    labels = {f"@labels:{name}": label_column(records, name) for name in dimensions if name != OVERALL}
    timed = observations(records)
    return {
        **labels,
        **{f"@timed:{name}": pa.array(values) for name, (values, _) in timed.items()},
        **{f"@cut:{name}": pa.array(cuts) for name, (_, cuts) in timed.items()},
    }


class Scratch:
    """A folder of parts, by their numbers."""

    def __init__(self, folder: Path, n: int) -> None:
        """The `n` parts in `folder`."""
        self.folder, self.n = folder, n

    def put(self, number: int, samples: pa.Table, extra: dict[str, pa.Array[Any]]) -> None:
        """Keep a part: its samples, and what stands beside them; StorageError where the disk refuses."""
        for name, column in extra.items():
            samples = samples.append_column(name, column)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, samples.schema, options=_COMPRESSED) as writer:
            writer.write_table(samples.combine_chunks())
        replace(self._path(number), sink.getvalue().to_pybytes())

    def parts(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The parts in order, each with those of the named columns that it has."""
        for number in range(self.n):
            with pa.OSFile(str(self._path(number)), "rb") as file:
                whole = pa.ipc.open_file(file)
                known = whole.schema.names
                wanted = sorted(known.index(name) for name in names if name in known)
                options = pa.ipc.IpcReadOptions(included_fields=wanted)
                yield pa.ipc.open_file(file, options=options).read_all()

    def column(self, name: str) -> NDArray[np.float64]:
        """A column of numbers of the whole run, null as NaN, as is all of a part that does not have it."""
        tables = self.parts(["sample_id", name])
        return np.concatenate([_numbers(table, name) for table in tables])

    def names(self) -> set[str]:
        """The columns that any part has."""
        found = set[str]()
        for number in range(self.n):
            with pa.OSFile(str(self._path(number)), "rb") as file:
                found.update(pa.ipc.open_file(file).schema.names)
        return found

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.arrow"


def _numbers(table: pa.Table, name: str) -> NDArray[np.float64]:
    if name not in table.column_names:
        return np.full(len(table), np.nan)
    found: NDArray[np.float64] = table[name].to_numpy()
    return found
