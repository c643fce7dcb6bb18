"""What the groups of a form hold, as columns: JSON texts to Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from evalkit.contracts import EvalRecord, ToolCall
from evalkit.records.calls import in_texts
from evalkit.records.fields import COLUMNS, value_of
from evalkit.records.folding import unfolded, unfolded_all

__all__ = ["column_of", "constant"]

Column: TypeAlias = Any
"""An Arrow array: the stubs tell too little of what Arrow's functions give."""

_NULL = "null"
_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_NOTHING = pa.array(["", _NULL])
_calls_of = TypeAdapter[tuple[ToolCall, ...] | None](tuple[ToolCall, ...] | None).validate_python
_NEVER_NULL = {
    name
    for name, field in EvalRecord.model_fields.items()
    if field.get_default(call_default_factory=True) is not None
}
"""Fields that read null as empty."""


def column_of(name: str, cells: Sequence[str], *, comma: str, signs: str) -> Column:
    """The column whose cells are JSON texts, folded where `signs` tell which escapes there may be; "" is null.

    `comma` is what stands between the items of lists. Of a number of items "" says that there are some,
    whatever stands in its place that there are none.
    """
    if _is_constant(cells):
        one = _column(name, cells[:1], comma=comma, signs=signs)
        return one.take(np.zeros(len(cells), dtype=np.int64))
    return _column(name, cells, comma=comma, signs=signs)


def _is_constant(cells: Sequence[str]) -> bool:
    """Whether all cells are the same; a look at the last tells most that are not."""
    return len(cells) > 1 and cells[0] == cells[-1] and cells.count(cells[0]) == len(cells)


def _column(name: str, cells: Sequence[str], *, comma: str, signs: str) -> Column:
    kind = COLUMNS[name]
    if name.endswith("#"):
        null = 0 if name[:-1] in _NEVER_NULL else -1
        return pa.array([1 if not text else null if text == _NULL else 0 for text in cells], kind)
    if name.endswith("()"):
        calls = {text: in_texts(_calls_of(unfolded(text))) for text in set(cells)}
        return pa.array([calls[text] for text in cells], kind)
    return _told(name, cells, comma=comma, signs=signs)


def _told(name: str, cells: Sequence[str], *, comma: str, signs: str) -> Column:
    """Texts, numbers, flags and lists of texts."""
    kind, texts = COLUMNS[name], pa.array(cells, _TEXT)
    if signs and kind in (_TEXT, _TEXTS) and pc.any(pc.match_substring(texts, "\x01")).as_py():
        if kind == _TEXTS:
            return pa.array([_parsed(name, text) for text in cells], kind)
        given = _is_given(texts)
        return _where(given, _sliced(pa.array(unfolded_all(cells, signs), _TEXT), 1))
    if kind == _TEXT:
        return _where(_is_given(texts), _sliced(texts, 1))
    if kind == _TEXTS:
        return _lists(name, texts, f'"{comma}"')
    return pc.cast(_where(_is_given(texts), texts), kind)


def _parsed(name: str, text: str) -> Any:
    """A cell by itself, escapes and all."""
    value = unfolded(text) if text else None
    return [] if value is None and name in _NEVER_NULL else value


def _is_given(texts: Column) -> Column:
    return pc.invert(pc.is_in(texts, _NOTHING))


def _where(given: Column, values: Column) -> Column:
    return pc.if_else(given, values, pa.scalar(None, values.type))


def _sliced(texts: Column, n: int) -> Column:
    """Without `n` characters, each of one byte, at both ends."""
    return pc.binary_slice(texts.cast(pa.binary()), n, -n).cast(_TEXT)


def _lists(name: str, texts: Column, between: str) -> Column:
    """Lists of texts, cut at what stands between their items."""
    missing = pc.equal(texts, pa.scalar(_NULL))
    if pc.any(pc.and_not(pc.match_substring(texts, _NULL), missing)).as_py():
        return pa.array([_parsed(name, text) for text in texts.to_pylist()], _TEXTS)
    cut = pc.split_pattern(_sliced(texts, 2), between)
    empty = np.asarray(pc.or_(missing, pc.equal(texts, pa.scalar("[]"))))
    sizes = np.where(empty, 0, np.asarray(pc.list_value_length(cut)))
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    kept: Column = pa.array(np.repeat(~empty, np.asarray(pc.list_value_length(cut))))
    items = cut.flatten().filter(kept)
    nothing: Column = None if name in _NEVER_NULL else missing
    starts: Column = pa.array(offsets)
    return pa.ListArray.from_arrays(starts, items, mask=nothing)


def constant(name: str, record: EvalRecord, n: int) -> Column:
    """The column of `n` records that all hold what this one does."""
    one = pa.array([value_of(record, name)], COLUMNS[name])
    return one.take(np.zeros(n, dtype=np.int64))
