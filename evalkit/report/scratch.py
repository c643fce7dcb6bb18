"""The samples of a run on their way to its tables: each part in a file of its own, read back column by column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit.metrics.intent import errors
from evalkit.metrics.latency import observations
from evalkit.records import Records
from evalkit.report.sample_table import label_column
from evalkit.report.slice_table import OVERALL
from evalkit.writing import replace

__all__ = ["Scratch", "beside"]

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def beside(records: Records, dimensions: Sequence[str]) -> dict[str, pa.Array[Any]]:
    """What stands beside the samples of a part: their labels by each dimension, what was timed and cut off, and
    whether their intent is one of the wrong ones.
    """
    labels = {f"@labels:{name}": label_column(records, name) for name in dimensions if name != OVERALL}
    timed, wrong = observations(records), np.zeros(len(records), dtype=np.bool_)
    wrong[[row for row, _ in errors(records)]] = True
    return {
        **labels,
        "@wrong": pa.array(wrong),
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

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:06d}.arrow"
