"""The rows of a source, made when somebody asks for one: a record is read again from where it stands."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import overload

from evalkit.contracts import EvalRecord
from evalkit.records.batch import Places
from evalkit.records.sources import Source

__all__ = ["Changed", "SourceRows"]

_KEPT = 20_000


class _Rows(Sequence[EvalRecord]):
    """Records that are found one by one."""

    @abstractmethod
    def _at(self, row: int) -> EvalRecord:
        """The record in that row, from 0."""

    @overload
    def __getitem__(self, index: int) -> EvalRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRecord]: ...
    def __getitem__(self, index: int | slice) -> EvalRecord | Sequence[EvalRecord]:
        """The record, or the records, at that place."""
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        return self._at(range(len(self))[index])


class SourceRows(_Rows):
    """The records at some places of a source, the first to be asked for kept; raises as `Source.record`."""

    def __init__(self, source: Source, places: Places) -> None:
        """The rows at these places."""
        self._source, self._places = source, places
        self._kept: dict[int, EvalRecord] = {}

    def __len__(self) -> int:
        """How many places there are."""
        return len(self._places.numbers)

    def _at(self, row: int) -> EvalRecord:
        return self._kept.get(row) or self._made(row)

    def _made(self, row: int) -> EvalRecord:
        record = self._source.record(*(int(column[row]) for column in self._places))
        if len(self._kept) < _KEPT:
            self._kept[row] = record
        return record


class Changed(_Rows):
    """Records of which some stand in place of others."""

    def __init__(self, rows: Sequence[EvalRecord], changes: Mapping[int, EvalRecord]) -> None:
        """The rows, those in `changes` by their place instead."""
        self._rows, self._changes = rows, changes

    def __len__(self) -> int:
        """How many records there are."""
        return len(self._rows)

    def _at(self, row: int) -> EvalRecord:
        return self._changes.get(row) or self._rows[row]
