"""Some of the records of a source as columns, and where each stands in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.reading import Reading

__all__ = ["Batch", "Places", "drained", "gathered"]


class Places(NamedTuple):
    """`numbers` of lines, or rows of a table, from 1; (n,) each.

    Of lines also the `offsets` and the `sizes` of their bytes in the text, the line's end apart; of rows both are 0.
    """

    numbers: NDArray[np.int64]
    offsets: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, numbers: NDArray[np.int64]) -> Places:
        """The places of rows with these numbers."""
        nothing = np.zeros(len(numbers), dtype=np.int64)
        return cls(numbers, nothing, nothing)


class Batch(NamedTuple):
    """Records as columns, named as in `fields.COLUMNS`, and where they stand."""

    columns: pa.Table
    places: Places


def gathered(parts: Sequence[Batch]) -> Batch:
    """The records of all parts, at least one, in the order of their numbers."""
    full = [part for part in parts if len(part.columns)] or parts[:1]
    if len(full) == 1:
        return full[0]
    places = [np.concatenate(columns) for columns in zip(*(part.places for part in full), strict=True)]
    order = np.argsort(places[0])
    table = pa.concat_tables([part.columns for part in full]).take(order)
    return Batch(table, Places(*(column[order] for column in places)))


def drained(reading: Reading[EvalRecord]) -> Iterator[EvalRecord]:
    """What was read and not yet taken: it does not stay in the reading, which may be long."""
    reading.numbers.clear()
    while reading.items:
        yield reading.items.pop()
