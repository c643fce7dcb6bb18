"""The samples of a run on their way to its tables: each part in a file of its own, read back column by column."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import IOBase
from typing import Any, cast

import numpy as np
import pyarrow as pa

from evalkit.engines.shared import Folder
from evalkit.metrics.intent import errors
from evalkit.metrics.latency import observations
from evalkit.report.charge_columns import charge_columns
from evalkit.report.partial import Seen
from evalkit.report.sample_table import label_column
from evalkit.report.slice_table import OVERALL

__all__ = ["Scratch", "beside"]

_COMPRESSED = pa.ipc.IpcWriteOptions(compression="lz4")


def beside(seen: Seen, dimensions: Sequence[str]) -> dict[str, pa.Array[Any]]:
    """What stands beside the samples of a part: their labels by each dimension, what was timed and cut off, whether
    their intent is one of the wrong ones, and what they are charged for.
    """
    records = seen.measured.records
    labels = {f"@labels:{name}": label_column(records, name) for name in dimensions if name != OVERALL}
    timed, wrong = observations(records), np.zeros(len(records), dtype=np.bool_)
    wrong[[row for row, _ in errors(records)]] = True
    return {
        **labels,
        "@wrong": pa.array(wrong),
        **{f"@timed:{name}": pa.array(values) for name, (values, _) in timed.items()},
        **{f"@cut:{name}": pa.array(cuts) for name, (_, cuts) in timed.items()},
        **charge_columns(records, seen.measured.results, seen.failed),
    }


@dataclass(frozen=True)
class Scratch:
    """Parts in a folder, by the `names` of their files.

    A part that is done again has another file: whoever did it first, and died of it or not, disturbs nobody.
    """

    folder: Folder
    names: Sequence[str] = ()

    def put(self, number: int, samples: pa.Table, extra: Mapping[str, pa.Array[Any]]) -> str:
        """Keep a part: its samples, and what stands beside them; the name of its file. StorageError as the folder's."""
        for name, column in extra.items():
            samples = samples.append_column(name, column)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, samples.schema, options=_COMPRESSED) as writer:
            writer.write_table(samples.combine_chunks())
        name = f"{number:06d}-{secrets.token_hex(4)}.arrow"
        self.folder.put(name, sink.getvalue().to_pybytes())
        return name

    def parts(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """The parts in order, each with those of the named columns that it has."""
        return (self.part(number, columns) for number in range(len(self.names)))

    def part(self, number: int, columns: Sequence[str]) -> pa.Table:
        """A part with those of the named columns that it has."""
        with self.folder.open(self.names[number]) as file:
            source = pa.PythonFile(cast("IOBase", file), mode="r")
            known = pa.ipc.open_file(source).schema.names
            wanted = sorted({known.index(name) for name in columns if name in known})
            options = pa.ipc.IpcReadOptions(included_fields=wanted)
            return pa.ipc.open_file(source, options=options).read_all()
