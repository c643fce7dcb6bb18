"""What the groups of a form hold, as columns: JSON texts to Arrow arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from evalkit.contracts import EvalRecord, ToolCall
from evalkit.records.arrow import Cells, lengths
from evalkit.records.calls import in_texts
from evalkit.records.fields import COLUMNS, value_of
from evalkit.records.folding import unfolded, unfolded_all

__all__ = ["column_of", "constant"]

_NULL = b"null"
_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_calls_of = TypeAdapter[tuple[ToolCall, ...] | None](tuple[ToolCall, ...] | None).validate_python
_NEVER_NULL = {
    name
    for name, field in EvalRecord.model_fields.items()
    if field.get_default(call_default_factory=True) is not None
}
"""Fields that read null as empty."""


def column_of(name: str, cells: Sequence[bytes | None], *, comma: str, signs: bytes) -> Cells:
    """The column whose cells are JSON texts in UTF-8, folded where `signs` tell which escapes there may be.

    `comma` is what stands between the items of lists. Null is null, but of a number of items it says that there are
    some, and whatever stands in its place that there are none.
    """
    if _is_constant(cells):
        one = _column(name, cells[:1], comma=comma, signs=signs)
        return one.take(np.zeros(len(cells), dtype=np.int64))
    return _column(name, cells, comma=comma, signs=signs)


def _is_constant(cells: Sequence[bytes | None]) -> bool:
    """Whether all cells are the same; a look at the last tells most that are not."""
    return len(cells) > 1 and cells[0] == cells[-1] and cells.count(cells[0]) == len(cells)


def _column(name: str, cells: Sequence[bytes | None], *, comma: str, signs: bytes) -> Cells:
    kind = COLUMNS[name]
    if name.endswith("#"):
        null = 0 if name[:-1] in _NEVER_NULL else -1
        return pa.array([1 if text is None else null if text == _NULL else 0 for text in cells], kind)
    if name.endswith("()"):
        calls = {text: in_texts(_calls_of(unfolded(text))) for text in {*cells} if text}
        return pa.array([calls[text] if text else None for text in cells], kind)
    return _told(name, cells, comma=comma, signs=signs)


def _told(name: str, cells: Sequence[bytes | None], *, comma: str, signs: bytes) -> Cells:
    """Texts, numbers, flags and lists of texts."""
    kind = COLUMNS[name]
    texts: Cells = pa.array(cells, pa.binary()).view(_TEXT)
    if signs and kind in (_TEXT, _TEXTS) and pc.any(pc.match_substring(texts, "\x01")).as_py():
        if kind == _TEXTS:
            return _parsed(name, texts)
        return _but_null(texts, _sliced(pa.array(_plain(cells, signs), pa.binary()), 1))
    if kind == _TEXT:
        return _but_null(texts, _sliced(texts, 1))
    if kind == _TEXTS:
        return _lists(name, texts, f'"{comma}"')
    return pc.cast(_but_null(texts, texts), kind)


def _parsed(name: str, texts: Cells) -> Cells:
    """Lists by themselves, escapes and all, each different one once."""
    encoded = texts.dictionary_encode()
    values = [unfolded(text) for text in encoded.dictionary.view(pa.binary()).to_pylist()]
    nothing: list[str] | None = [] if name in _NEVER_NULL else None
    return pa.array([nothing if value is None else value for value in values], _TEXTS).take(encoded.indices)


def _plain(cells: Sequence[bytes | None], signs: bytes) -> list[bytes]:
    return unfolded_all([cell or b"" for cell in cells], signs)


def _but_null(texts: Cells, values: Cells) -> Cells:
    """The values, null where the text is null or there is none."""
    missing = pc.equal(texts, pa.scalar("null"))
    if not texts.null_count and not pc.any(missing).as_py():
        return values
    return pc.if_else(missing, pa.scalar(None, values.type), values)


def _sliced(texts: Cells, n: int) -> Cells:
    """Without `n` characters, each of one byte, at both ends."""
    return pc.binary_slice(texts.cast(pa.binary()), n, -n).cast(_TEXT)


def _lists(name: str, texts: Cells, between: str) -> Cells:
    """Lists of texts, cut at what stands between their items."""
    missing = pc.equal(texts, pa.scalar("null"))
    if pc.any(pc.and_not(pc.match_substring(texts, "null"), missing)).as_py():
        return _parsed(name, texts)
    cut = pc.split_pattern(_sliced(texts, 2), between)
    empty = np.asarray(pc.or_(missing, pc.equal(texts, pa.scalar("[]"))))
    sizes = lengths(cut)
    offsets = np.concatenate(([0], np.cumsum(np.where(empty, 0, sizes)))).astype(np.int32)
    kept: Cells = pa.array(np.repeat(~empty, sizes))
    items = cut.flatten().filter(kept)
    nothing: Cells = None if name in _NEVER_NULL else missing
    starts: Cells = pa.array(offsets)
    return pa.ListArray.from_arrays(starts, items, mask=nothing)


def constant(name: str, record: EvalRecord, n: int) -> Cells:
    """The column of `n` records that all hold what this one does."""
    value, kind = value_of(record, name), cast("Any", COLUMNS[name])
    if value is None:
        return pa.nulls(n, kind)
    if value == ():  # as always where nothing is said, and quicker
        starts: Cells = pa.array(np.zeros(n + 1, dtype=np.int32))
        return pa.ListArray.from_arrays(starts, pa.array([], _TEXT))
    return pa.array([value], kind).take(np.zeros(n, dtype=np.int64))
