"""Columns of records that are there as rows: each is put together when it is asked for."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from evalkit.contracts import EvalRecord, ToolCall
from evalkit.records.calls import arguments
from evalkit.records.columns import Codes, Lists, ToolCalls

__all__ = ["ByRow"]


class ByRow:
    """Any field of the rows as a column, `a.b` for a field within a field; what a record has not is null.

    The same questions as `Columns` answers for the fields that it keeps.
    """

    def __init__(self, rows: Sequence[EvalRecord]) -> None:
        """The columns of these rows."""
        self._rows = rows

    def values(self, name: str) -> list[Any]:
        """The values of the field."""
        first, *parts = name.split(".")
        if first in EvalRecord.model_fields:
            values: list[Any] = [getattr(row, first) for row in self._rows]
        else:
            values = [_field(row, first) for row in self._rows]
        for part in parts:
            values = [_field(value, part) for value in values]
        return values

    def codes(self, name: str, code: Callable[[str | None], int]) -> Codes:
        """A field of texts as (n,) int32."""
        return np.array([code(text) for text in self.values(name)], dtype=np.int32)

    def lists(self, name: str, code: Callable[[str | None], int]) -> Lists:
        """A field of lists of texts."""
        values = self.values(name)
        return _lists(values, [code(text) for value in values for text in value or ()])

    def calls(self, names: Sequence[str]) -> tuple[ToolCalls, ...]:
        """Fields and properties of calls."""
        named, given = (defaultdict[str, int](itertools.count().__next__).__getitem__ for _ in range(2))
        return tuple(_calls([getattr(row, name) for row in self._rows], named, given) for name in names)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A field of numbers or flags as (n,) float64, null as NaN."""
        return np.array([np.nan if value is None else value for value in self.values(name)], dtype=np.float64)

    def told(self, name: str) -> NDArray[np.bool_]:
        """Where the field is not null."""
        return np.array([value is not None for value in self.values(name)], dtype=np.bool_)

    def given(self, name: str) -> NDArray[np.bool_]:
        """Where the field is neither null nor empty."""
        return np.array([_is_given(value) for value in self.values(name)], dtype=np.bool_)

    def sizes(self, name: str) -> NDArray[np.int64]:
        """How many items the field has in each record, null none."""
        return np.array([len(value) if value else 0 for value in self.values(name)], dtype=np.int64)

    def contains(self, name: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Where a field of texts holds any of `texts`."""
        cells = self.values(name)
        return np.array(
            [bool(cell) and any(text in cell for text in texts) for cell in cells], dtype=np.bool_
        )


def _lists(values: Sequence[Sized | None], codes: Sequence[int]) -> Lists:
    """Lists, or null, and the codes of all their items."""
    sizes = [len(value) if value else 0 for value in values]
    missing = np.array([value is None for value in values], dtype=np.bool_)
    return Lists(_offsets(sizes), np.array(codes, dtype=np.int32), missing)


def _calls(
    values: Sequence[Sequence[ToolCall] | None], named: Callable[[str], int], given: Callable[[str], int]
) -> ToolCalls:
    """Calls, or null, with what numbers their names and what numbers their arguments."""
    names: list[int] = []
    sizes: list[int] = []
    codes: list[int] = []
    for call in itertools.chain.from_iterable(filter(None, values)):
        names.append(named(call.name))
        sizes.append(len(call.arguments))
        codes.extend(map(given, arguments(call.arguments)))
    none = np.zeros(len(sizes), dtype=np.bool_)
    return ToolCalls(_lists(values, names), Lists(_offsets(sizes), np.array(codes, dtype=np.int32), none))


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)


def _field(owner: object, name: str) -> Any:
    """A field, known or not, or a property of a model, or a key of a mapping; null where there is none."""
    if isinstance(owner, Mapping):
        return owner.get(name)
    if isinstance(owner, BaseModel) and name in (extra := owner.model_extra or {}):
        return extra[name]
    found = getattr(owner, name, None)
    return None if callable(found) else found


def _is_given(value: object) -> bool:
    return value is not None and (not hasattr(value, "__len__") or len(value) > 0)
