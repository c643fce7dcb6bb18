"""Tables in batches of columns: what can be told of whole columns is; every other row goes through the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalkit.contracts import EvalRecord, asked
from evalkit.reading import Reading
from evalkit.reading.columnar import Part, cells, rows_of
from evalkit.reading.files import take_row
from evalkit.records.arrow import Cells, lengths, there
from evalkit.records.batch import Batch, Places, drained, gathered
from evalkit.records.calls import Call, arguments
from evalkit.records.cells import constant
from evalkit.records.checked import Marks, filling
from evalkit.records.fields import CALLS, COLUMNS, PARTS, SIZED, call_column, of_rows, size_column, value_of

__all__ = ["table_batches", "vouched"]


def table_batches(
    name: str | Path, parts: Iterable[Part], reading: Reading[EvalRecord], *, rejecting: bool
) -> Iterator[Batch]:
    """The records of a table, part by part, in the order of its rows.

    What is no record is put into `reading`, as by `reading.read`; its items stay empty. Raises BadData as `parts`
    does.
    """
    for part in parts:
        columns, sure = vouched(part.batch)
        numbers = part.number + np.arange(len(sure))
        if sure.all():
            yield Batch(columns, Places.of(numbers))
        else:
            good = Batch(columns.filter(pa.array(sure)), Places.of(numbers[sure]))
            yield gathered([good, *_by_row(name, part, ~sure, reading, rejecting=rejecting)])


def _by_row(
    name: str | Path, part: Part, odd: Marks, reading: Reading[EvalRecord], *, rejecting: bool
) -> Iterator[Batch]:
    """The records among the rows marked as `odd`, by the models, not too many at a time."""
    mentioned = set(part.batch.schema.names)
    for piece in part.pieces():
        start = piece.number - part.number
        marks = odd[start : start + piece.batch.num_rows]
        found: dict[int, EvalRecord] = {}
        for row in rows_of(name, piece, None if marks.all() else np.flatnonzero(marks).tolist()):
            take_row(reading, name, row, EvalRecord, rejecting=rejecting)
            for item in drained(reading):
                found[row.number] = asked(item, item.model_fields_set | mentioned)
        yield Batch(of_rows([*found.values()]), Places.of(np.array([*found], dtype=np.int64)))


def vouched(batch: pa.RecordBatch) -> tuple[pa.Table, Marks]:
    """All columns of the rows, and in which rows, (n,), they are what the models make of them; elsewhere they are not."""
    n, names = batch.num_rows, batch.schema.names
    filled, sure = filling(EvalRecord, names, batch.columns, n)
    found = {field: given for field, given in filled.items() if field in EvalRecord.model_fields}
    if "intent_pred_all" in found:
        found["intent_pred"] = _first_predictions(found.get("intent_pred"), found["intent_pred_all"])
    if "dialog" in found:
        sure &= ~_turns_call(found["dialog"]) | ("tool_calls" in found and there(found["tool_calls"]))
    empty = asked(EvalRecord(sample_id="-"), set(names))
    told = {**dict(_columns(found, empty)), **dict(_calls(found, sure))}
    columns = [told[name] if name in told else constant(name, empty, n) for name in COLUMNS]
    return pa.table(columns, names=[*COLUMNS]), sure


def _columns(found: Mapping[str, Cells], empty: EvalRecord) -> Iterator[tuple[str, Cells]]:
    """The columns of the fields that have some, calls apart; a null is what it is in the `empty` record."""
    for field, given in found.items():
        if field in COLUMNS:
            yield field, _filled(given, field, empty)
        if size_column(field) in COLUMNS:
            yield size_column(field), _filled(_sizes(given, field, empty), size_column(field), empty)
        for part in PARTS.get(field, ()):
            name = f"{field}.{part}"
            if given.type.get_field_index(part) >= 0:
                yield name, _filled(pc.struct_field(given, part), name, empty)


def _calls(found: Mapping[str, Cells], sure: Marks) -> Iterator[tuple[str, Cells]]:
    """The columns of the fields that hold calls; null where a row is not `sure`."""
    for field, column in CALLS.items():
        if field in found:
            rows = cells(pa.table([found[field]], names=[field]).filter(pa.array(sure)))
            texts: Cells = pa.array([_texts_of(row.get(field)) for row in rows], COLUMNS[call_column(column)])
            yield call_column(column), texts.take(pa.array(np.cumsum(sure) - 1, mask=~sure))


def _texts_of(calls: Sequence[Mapping[str, Any]] | None) -> list[Call] | None:
    """As `calls.in_texts`, of calls as a table has them."""
    return (
        None if calls is None else [(call["name"], arguments(call.get("arguments") or {})) for call in calls]
    )


def _turns_call(dialog: Cells) -> Marks:
    """In which rows a turn of the dialog holds calls."""
    turns, marks = dialog.flatten(), np.zeros(len(dialog), dtype=np.bool_)
    if pa.types.is_struct(turns.type) and turns.type.get_field_index("tool_calls") >= 0:
        calling = lengths(pc.struct_field(turns, "tool_calls")) > 0
        marks[np.asarray(pc.list_parent_indices(dialog))[calling]] = True
    return marks


def _filled(given: Cells, column: str, empty: EvalRecord) -> Cells:
    kind = COLUMNS[column]
    given, default = given if given.type == kind else given.cast(kind), value_of(empty, column)
    return given if default is None or not given.null_count else pc.fill_null(given, pa.scalar(default, kind))


def _sizes(given: Cells, field: str, empty: EvalRecord) -> Cells:
    """How many items each cell has where that is counted, else whether it has any; null for null."""
    sizes = np.ones(len(given), dtype=np.int64)
    if isinstance(getattr(empty, field), dict):
        sizes = np.sum([0 * sizes, *map(there, given.flatten())], axis=0)
    elif pa.types.is_list(given.type):
        sizes = lengths(given)
    return pa.array(sizes if field in SIZED else np.minimum(sizes, 1), mask=~there(given))


def _first_predictions(first: Cells | None, several: Cells) -> Cells:
    """As the model fills it in: the first of several that is not empty, where `first` is."""
    texts = several.flatten().cast(pa.string())
    places = np.flatnonzero(lengths(texts))
    rows, firsts = np.unique(np.asarray(pc.list_parent_indices(several))[places], return_index=True)
    which = np.full(len(several), -1)
    which[rows] = places[firsts]
    found = texts.take(pa.array(which, mask=which < 0))
    return (
        found if first is None else pc.if_else(pa.array(lengths(first) > 0), first, pc.coalesce(found, first))
    )
