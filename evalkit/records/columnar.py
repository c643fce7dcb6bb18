"""Columns in Arrow, as metrics want them: codes, offsets and numbers in numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.records.arrow import lengths, there
from evalkit.records.columns import Codes, Lists, ToolCalls
from evalkit.records.fields import SIZED, call_column, of_rows, size_column

__all__ = ["Columns"]

Code = Callable[["str | None"], int]
"""A text to its number in the vocabulary; null and the empty text are -1."""


class Columns:
    """The columns of a run that are kept in Arrow; of the others it has nothing to say."""

    def __init__(self, table: pa.Table) -> None:
        """The columns, named as in `fields.COLUMNS`."""
        self.table = table
        self._names = frozenset(table.column_names)

    def __contains__(self, name: object) -> bool:
        """Whether the field is such a column."""
        return name in self._names

    def has_texts(self, name: str) -> bool:
        """Whether the field is such a column, of texts."""
        return name in self and pa.types.is_string(self.table[name].type)

    def has_lists(self, name: str) -> bool:
        """Whether the field is such a column, of lists of texts."""
        return name in self and pa.types.is_list(self.table[name].type)

    def sized(self, name: str) -> bool:
        """Whether a column says how many items the field has."""
        return size_column(name) in self or call_column(name) in self

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
        texts = pa.chunked_array([part.flatten() for part in chunks], pa.string())
        return _lists(chunks, _codes(texts, code))

    def calls(self, names: Sequence[str]) -> tuple[ToolCalls, ...]:
        """Columns of calls."""
        rows: list[list[Any]] = [self.table[call_column(name)].chunks for name in names]
        calls = [[part.flatten() for part in chunks] for chunks in rows]
        given = [[part.field("arguments") for part in chunks] for chunks in calls]
        called = _coded([[part.field("name") for part in chunks] for chunks in calls])
        codes = _coded([[part.flatten() for part in chunks] for chunks in given])
        return tuple(map(ToolCalls, map(_lists, rows, called), map(_lists, given, codes)))

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers or flags as (n,) float64, null as NaN."""
        found: NDArray[np.float64] = pc.cast(self.table[name], pa.float64(), safe=False).to_numpy()
        return found

    def told(self, name: str) -> NDArray[np.bool_]:
        """Where the field is not null."""
        if size_column(name) in self:
            return self.numbers(size_column(name)) >= 0
        return there(self._cells(name))

    def given(self, name: str) -> NDArray[np.bool_]:
        """Where the field is neither null nor empty."""
        if size_column(name) in self:
            return self.numbers(size_column(name)) > 0
        column = self._cells(name)
        if pa.types.is_list(column.type) or pa.types.is_string(column.type):
            return lengths(column) > 0
        return self.told(name)

    def sizes(self, name: str) -> NDArray[np.int64]:
        """How many items the field has in each record, null none."""
        if name in SIZED:
            return np.maximum(self.numbers(size_column(name)), 0).astype(np.int64)
        return lengths(self.table[name])

    def contains(self, name: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Where a column of texts holds any of `texts`."""
        column: Any = self.table[name]
        found = np.zeros(len(column), dtype=np.bool_)
        for text in texts:
            found |= np.asarray(pc.match_substring(column, text).fill_null(pa.scalar(value=False)))
        return found

    def _cells(self, name: str) -> Any:
        """The column of the field, or of its calls."""
        return self.table[call_column(name) if call_column(name) in self else name]

    def replaced(self, changes: Mapping[int, EvalRecord]) -> Columns:
        """The columns with other records in the rows of `changes`."""
        order = np.arange(len(self.table))
        order[list(changes)] = len(order) + np.arange(len(changes))
        both = pa.concat_tables([self.table, of_rows(list(changes.values()))])
        return Columns(both.take(order))


def _lists(chunks: Sequence[Any], codes: Codes) -> Lists:
    """Chunks of lists, and the codes of all their items."""
    sizes = _joined((lengths(part) for part in chunks), np.int64)
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    missing = _joined((np.asarray(part.is_null()) for part in chunks), np.bool_)
    return Lists(offsets, codes, missing)


def _joined(parts: Iterable[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind, copy=False)


def _codes(texts: Any, code: Code) -> Codes:
    """Each text is looked up once."""
    places, distinct = _encoded(texts)
    known = np.array([*map(code, distinct.to_pylist()), -1], dtype=np.int32)
    found: Codes = known[places]
    return found


def _coded(columns: Sequence[Sequence[Any]]) -> list[Codes]:
    """Columns of texts, none of them null, over one vocabulary of their own."""
    texts = pa.chunked_array([part for chunks in columns for part in chunks], pa.string())
    ends = np.cumsum([sum(map(len, chunks)) for chunks in columns])
    return np.split(_encoded(texts)[0], ends[:-1])


def _encoded(texts: Any) -> tuple[Codes, Any]:
    """The place of each text among the distinct ones, that of null after them; and these.

    All chunks of an encoded column have the dictionary of the last one.
    """
    chunks: list[Any] = texts.dictionary_encode().chunks
    distinct: Any = chunks[-1].dictionary if chunks else pa.array([], pa.string())
    places = (np.asarray(chunk.indices.fill_null(len(distinct))) for chunk in chunks)
    return _joined(places, np.int32), distinct
