"""Tables in batches of columns: what can be told of whole columns is; every other row goes through the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalkit.contracts import EvalRecord, asked
from evalkit.reading import Reading
from evalkit.reading.columnar import Part, rows_of
from evalkit.reading.columnar import cells as cells_of
from evalkit.reading.files import take_row
from evalkit.records.arrow import Cells, lengths, there
from evalkit.records.batch import Batch, Places, drained, gathered
from evalkit.records.calls import Call, arguments
from evalkit.records.cells import constant
from evalkit.records.checked import Marks, filling
from evalkit.records.fields import (
    CALLS,
    COLUMNS,
    PARTS,
    SIZED,
    call_column,
    of_rows,
    size_column,
    value_of,
)

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
    found, sure = filling(EvalRecord, names, batch.columns, n)
    sure &= ~_calls_in_turns(found, n)
    if "intent_pred_all" in found:
        found["intent_pred"] = _first_predictions(found.get("intent_pred"), found["intent_pred_all"])
    empty = asked(EvalRecord(sample_id="-"), set(names))
    told = dict(_columns(found, empty))
    told |= {call_column(name): _calls(found[field], sure) for field, name in CALLS.items() if field in found}
    columns = [told[name] if name in told else constant(name, empty, n) for name in COLUMNS]
    return pa.table(columns, names=[*COLUMNS]), sure


def _columns(found: Mapping[str, Cells], empty: EvalRecord) -> Iterator[tuple[str, Cells]]:
    """The columns of the fields that have some; a null is what it is in the `empty` record."""
    for field, cells in found.items():
        if field in COLUMNS:
            yield field, _filled(cells, field, empty)
        if size_column(field) in COLUMNS:
            yield size_column(field), _filled(_sizes(cells, field, empty), size_column(field), empty)
        for part in PARTS.get(field, ()):
            name = f"{field}.{part}"
            if cells.type.get_field_index(part) >= 0:
                yield name, _filled(pc.struct_field(cells, part), name, empty)


def _filled(cells: Cells, column: str, empty: EvalRecord) -> Cells:
    kind = COLUMNS[column]
    cells, default = cells if cells.type == kind else cells.cast(kind), value_of(empty, column)
    return cells if default is None or not cells.null_count else pc.fill_null(cells, pa.scalar(default, kind))


def _sizes(cells: Cells, field: str, empty: EvalRecord) -> Cells:
    """How many items each cell has where that is counted, else whether it has any; null for null."""
    sizes = np.ones(len(cells), dtype=np.int64)
    if isinstance(getattr(empty, field), dict):
        sizes = np.sum([0 * sizes, *map(there, cells.flatten())], axis=0)
    elif pa.types.is_list(cells.type):
        sizes = lengths(cells)
    return pa.array(sizes if field in SIZED else np.minimum(sizes, 1), mask=~there(cells))


def _calls_in_turns(found: Mapping[str, Cells], n: int) -> Marks:
    """In which of the `n` rows turns hold calls and the record none of its own, so that theirs are those it made."""
    marks = np.zeros(n, dtype=np.bool_)
    dialogs, own = found.get("dialog"), found.get("tool_calls")
    if dialogs is None or not pa.types.is_struct(dialogs.type.value_type):
        return marks
    place = dialogs.type.value_type.get_field_index("tool_calls")
    if place < 0:
        return marks
    told = there(pc.struct_field(dialogs.flatten(), place))
    marks[np.asarray(pc.list_parent_indices(dialogs))[told]] = True
    return marks if own is None else marks & ~there(own)


def _calls(lists: Cells, sure: Marks) -> Cells:
    """The calls of the rows that are `sure`, as `calls.in_texts`; null in the others, which may hold anything."""
    found: list[list[Call] | None] = [None] * len(lists)
    rows = np.flatnonzero(sure & there(lists))
    for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1) if len(rows) else ():
        part = lists.slice(run[0], len(run))
        texts = iter(_texts(part.flatten()))
        for row, size in zip(run.tolist(), lengths(part).tolist(), strict=True):
            found[row] = list(islice(texts, size))
    return pa.array(found, COLUMNS[call_column("calls_made")])


def _texts(calls: Cells) -> Iterable[Call]:
    """Each of the calls as its name and its arguments."""
    if not len(calls):
        return ()
    given: list[dict[str, Any]] = [{}] * len(calls)
    place = calls.type.get_field_index("arguments")
    if place >= 0 and calls.type[place].type.num_fields:
        columns = pc.struct_field(calls, place)
        given = cells_of(pa.table(columns.flatten(), names=[field.name for field in columns.type]))
    return zip(pc.struct_field(calls, "name").to_pylist(), map(arguments, given), strict=True)


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
