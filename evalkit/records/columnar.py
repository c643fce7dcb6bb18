"""Columns in Arrow, as metrics want them: codes, offsets and numbers in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.records.columns import Codes, Lists
from evalkit.records.fields import SIZED, of_rows, size_column

__all__ = ["Columns"]

Code = Callable[["str | None"], int]
"""A text to its number in the vocabulary; null and the empty text are -1."""


class Columns:
    """The columns of a run that are kept in Arrow; of the others it has nothing to say."""

    def __init__(self, table: pa.Table) -> None:
        """The columns, named as in `fields.COLUMNS`."""
        self.table = table

    def __contains__(self, name: object) -> bool:
        """Whether the field is such a column."""
        return name in self.table.column_names

    def has_texts(self, name: str) -> bool:
        """Whether the field is such a column, of texts."""
        return name in self and pa.types.is_string(self.table[name].type)

    def has_lists(self, name: str) -> bool:
        """Whether the field is such a column, of lists of texts."""
        return name in self and pa.types.is_list(self.table[name].type)

    def sized(self, name: str) -> bool:
        """Whether the field's number of items is a column."""
        return size_column(name) in self

    def values(self, name: str) -> list[Any]:
        """The values of a column, null for null."""
        found: list[Any] = self.table[name].to_pylist()
        return found

    def codes(self, name: str, code: Code) -> Codes:
        """A column of texts as (n,) int32."""
        return _codes(self.table[name], code)

    def lists(self, name: str, code: Code) -> Lists:
        """A column of lists of texts."""
        chunks: list[Any] = self.table[name].chunks
        sizes = _joined((_lengths(part) for part in chunks), np.int64)
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        codes = _codes(pa.chunked_array([part.flatten() for part in chunks], pa.string()), code)
        return Lists(offsets, codes, ~self.told(name))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers or flags as (n,) float64, null as NaN."""
        found: NDArray[np.float64] = pc.cast(self.table[name], pa.float64()).to_numpy()
        return found

    def told(self, name: str) -> NDArray[np.bool_]:
        """Where the field is not null."""
        if self.sized(name):
            return self.numbers(size_column(name)) >= 0
        return np.asarray(pc.is_valid(self.table[name]))

    def given(self, name: str) -> NDArray[np.bool_]:
        """Where the field is neither null nor empty."""
        if self.sized(name):
            return self.numbers(size_column(name)) > 0
        column = self.table[name]
        if pa.types.is_list(column.type) or pa.types.is_string(column.type):
            return _lengths(column) > 0
        return self.told(name)

    def sizes(self, name: str) -> NDArray[np.int64]:
        """How many items the field has in each record, null none."""
        if name in SIZED:
            return np.maximum(self.numbers(size_column(name)), 0).astype(np.int64)
        return _lengths(self.table[name])

    def contains(self, name: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Where a column of texts holds any of `texts`."""
        column: Any = self.table[name]
        found = np.zeros(len(column), dtype=np.bool_)
        for text in texts:
            found |= np.asarray(pc.match_substring(column, text).fill_null(pa.scalar(value=False)))
        return found

    def replaced(self, changes: Mapping[int, EvalRecord]) -> Columns:
        """The columns with other records in the rows of `changes`."""
        order = np.arange(len(self.table))
        order[list(changes)] = len(order) + np.arange(len(changes))
        both = pa.concat_tables([self.table, of_rows(list(changes.values()))])
        return Columns(both.take(order))


def _lengths(column: Any) -> NDArray[np.int64]:
    """The number of items, or of bytes, of each cell, null as 0."""
    length: Any = pc.list_value_length if pa.types.is_list(column.type) else pc.binary_length
    return np.asarray(pc.fill_null(length(column), pa.scalar(0, pa.int32()))).astype(np.int64)


def _joined(parts: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)


def _codes(texts: Any, code: Code) -> Codes:
    """Each text is looked up once: all chunks of an encoded column have the dictionary of the last one."""
    chunks: list[Any] = texts.dictionary_encode().chunks
    if not chunks:
        return np.zeros(0, dtype=np.int32)
    known = np.array([*map(code, chunks[-1].dictionary.to_pylist()), -1], dtype=np.int32)
    places = _joined((np.asarray(chunk.indices.fill_null(len(known) - 1)) for chunk in chunks), np.int32)
    found: Codes = known[places]
    return found
