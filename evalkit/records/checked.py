"""Cells of Arrow held against the types of the models, whole columns at a time: which of them need no second look.

What is taken here the models take as well, as the same value. Of the rest, which may still be right, nothing is
said: somebody else has to look at it row by row.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BaseModel

from evalkit.contracts.values import Digits
from evalkit.records.annotations import ANY, bare, bounds, branches, fields_by_key, is_any, is_nullable
from evalkit.records.arrow import Cells, lengths, there

__all__ = ["Marks", "filling"]

Marks: TypeAlias = NDArray[np.bool_]

_types: Any = pa.types
_LIMITS: Mapping[str, Callable[[Any, Any], Any]] = {
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "min_length": np.greater_equal,
    "max_length": np.less_equal,
}
_YEARS = (-62_135_596_800, 253_402_300_799)
"""The first and the last second of the years that Python's clock has, 1 to 9999."""

_IN_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LARGEST = 2**63 - 1


class _Checked(NamedTuple):
    """Cells as a record holds them, and which of those that are there are taken, (n,) each."""

    cells: Cells
    taken: Marks


def filling(
    model: type[BaseModel], names: Sequence[str], columns: Sequence[Cells], n: int
) -> tuple[dict[str, Cells], Marks]:
    """Cells by the field of the model that they fill, and in which of the `n` rows nothing else need be looked at.

    A null was not given. Where two columns fill one field, no row is done with.
    """
    known = fields_by_key(model)
    fields = [known[name].name if name in known else name for name in names]
    required = {name for name, field in model.model_fields.items() if field.is_required()}
    if len(set(fields)) < len(fields) or not required <= set(fields):
        return {}, np.zeros(n, dtype=np.bool_)
    found, taken = _members([known[name].kind if name in known else ANY for name in names], columns, n)
    for field, cells in zip(fields, columns, strict=True):
        taken &= there(cells) | (field not in required)
    return {field: cells for field, cells in zip(fields, found, strict=True) if cells is not None}, taken


def _members(kinds: Iterable[Any], columns: Iterable[Cells], n: int) -> tuple[list[Cells | None], Marks]:
    """The cells of each column, None where nothing can be said of them, and the rows in which all are taken."""
    found, taken = list[Cells | None](), np.ones(n, dtype=np.bool_)
    for kind, cells in zip(kinds, columns, strict=True):
        checked = _checked(kind, cells)
        taken &= ~there(cells) if checked is None else ~there(cells) | checked.taken
        found.append(checked and checked.cells)
    return found, taken


def _checked(kind: Any, cells: Cells) -> _Checked | None:
    """Cells of such a type; None where nothing can be said of them."""
    if _types.is_dictionary(cells.type):
        cells = cells.dictionary_decode()
    branch, *others = branches(kind)
    if others:
        return None
    if is_any(branch):
        return _anything(cells)
    plain, constraints = bare(branch)
    try:
        return _plain(plain, cells, [*bare(kind)[1], *constraints])
    except pa.ArrowInvalid:  # larger than what a column holds
        return None


def _plain(kind: Any, cells: Cells, constraints: Sequence[Any]) -> _Checked | None:
    composed = _COMPOSED.get(typing.get_origin(kind))
    if composed is not None:
        return None if bounds(constraints) else composed(typing.get_args(kind), cells)
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return _models(kind, cells)
    scalar = _SCALARS.get(kind)
    return None if scalar is None else scalar(cells, constraints)


def _texts(cells: Cells, constraints: Sequence[Any]) -> _Checked | None:
    if not (_is_text(cells) or (Digits in constraints and _types.is_integer(cells.type))):
        return None
    texts, limits = cells.cast(pa.string()), bounds(constraints)
    sizes = pc.binary_length(texts)  # there is a byte where there is a character; several are no harm
    if set(limits.values()) - {0, 1}:
        sizes = pc.utf8_length(texts)
    return _Checked(texts, _within(sizes, limits))


def _flags(cells: Cells, constraints: Sequence[Any]) -> _Checked | None:  # noqa: ARG001 - one shape for all
    return _Checked(cells, np.ones(len(cells), dtype=np.bool_)) if _types.is_boolean(cells.type) else None


def _whole(cells: Cells, constraints: Sequence[Any]) -> _Checked | None:
    if not _types.is_integer(cells.type):
        return None
    return _Checked(cells.cast(pa.int64()), _within(cells, bounds(constraints)))


def _numbers(cells: Cells, constraints: Sequence[Any]) -> _Checked | None:
    if not (_is_float(cells) or _types.is_integer(cells.type)):
        return None
    numbers = cells.cast(pa.float64())
    return _Checked(numbers, _finite(numbers) & _within(numbers, bounds(constraints)))


def _moments(cells: Cells, constraints: Sequence[Any]) -> _Checked | None:  # noqa: ARG001 - one shape for all
    """Moments that Python's clock has, in UTC or without a zone."""
    if not _types.is_timestamp(cells.type) or cells.type.tz not in (None, "UTC"):
        return None
    unit = _IN_A_SECOND[cells.type.unit]
    first, last = max(_YEARS[0] * unit, -_LARGEST), min(_YEARS[1] * unit + unit - 1, _LARGEST)
    return _Checked(cells, _within(cells.cast(pa.int64()), {"ge": first, "le": last}))


def _is_text(cells: Cells) -> bool:
    return bool(_types.is_string(cells.type) or _types.is_large_string(cells.type))


def _is_float(cells: Cells) -> bool:
    return bool(_types.is_float32(cells.type) or _types.is_float64(cells.type))


def _finite(numbers: Cells) -> Marks:
    found: Marks = np.isfinite(np.asarray(numbers.fill_null(0.0)))
    return found


def _within(numbers: Cells, limits: Mapping[str, Any]) -> Marks:
    """Where all limits are kept."""
    found = np.full(len(numbers), set(limits) <= set(_LIMITS))
    values = np.asarray(numbers.fill_null(0)) if limits else None
    for name in set(limits) & set(_LIMITS):
        found &= _LIMITS[name](values, limits[name])
    return found


def _anything(cells: Cells) -> _Checked | None:
    """What is asked of nothing in particular: JSON, which has no numbers that are not finite."""
    kind = cells.type
    if _types.is_null(kind) or _types.is_boolean(kind) or _types.is_integer(kind) or _is_text(cells):
        return _Checked(cells, np.ones(len(cells), dtype=np.bool_))
    if _is_float(cells):
        return _Checked(cells, _finite(cells))
    return _objects((str, ANY), cells) if _types.is_struct(kind) else _lists((ANY,), cells)


def _choices(of: Sequence[Any], cells: Cells) -> _Checked | None:
    if not _is_text(cells):
        return None
    texts = cells.cast(pa.string())
    return _Checked(texts, np.asarray(pc.is_in(texts, pa.array(of, pa.string()))))


def _lists(of: Sequence[Any], cells: Cells) -> _Checked | None:
    """Lists whose items are all taken."""
    kind = of[0]
    if not (
        _types.is_list(cells.type)
        or _types.is_large_list(cells.type)
        or _types.is_fixed_size_list(cells.type)
    ):
        return None
    items = cells.flatten()
    checked = _checked(kind, items) or _Checked(pa.nulls(len(items)), np.zeros(len(items), dtype=np.bool_))
    bad = ~np.where(there(items), checked.taken, is_any(kind) or is_nullable(kind))
    ends = np.concatenate(([0], np.cumsum(lengths(cells))))
    starts: Cells = pa.array(ends, pa.int32())
    missing: Cells = pc.is_null(cells)
    lists = pa.ListArray.from_arrays(starts, checked.cells, mask=missing)
    if not bad.any():
        return _Checked(lists, np.ones(len(cells), dtype=np.bool_))
    before = np.concatenate(([0], np.cumsum(bad)))[ends]
    return _Checked(lists, before[1:] == before[:-1])


def _objects(of: Sequence[Any], cells: Cells) -> _Checked | None:
    """Objects with any keys; a null among the values was not given."""
    if not _types.is_struct(cells.type) or len({field.name for field in cells.type}) < len(cells.type):
        return None
    _, taken = _members([of[1]] * len(cells.type), cells.flatten(), len(cells))
    return _Checked(cells, taken)


def _models(model: type[BaseModel], cells: Cells) -> _Checked | None:
    """Objects of a model, as structs of those of its fields of which something is there."""
    if not _types.is_struct(cells.type):
        return None
    found, taken = filling(model, [field.name for field in cells.type], cells.flatten(), len(cells))
    if found:
        cells = pa.StructArray.from_arrays([*found.values()], [*found], mask=pc.is_null(cells))
    return _Checked(cells, taken)


_COMPOSED: Mapping[Any, Callable[[Sequence[Any], Cells], _Checked | None]] = {
    tuple: _lists,
    dict: _objects,
    Literal: _choices,
}
_SCALARS: Mapping[Any, Callable[[Cells, Sequence[Any]], _Checked | None]] = {
    str: _texts,
    bool: _flags,
    int: _whole,
    float: _numbers,
    datetime: _moments,
}
