"""Tables in batches of columns: what can be told of whole columns is; every other row goes through the models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalkit.contracts import EvalRecord, asked
from evalkit.reading import Reading
from evalkit.reading.columnar import Part, rows_of
from evalkit.reading.files import take_row
from evalkit.records.arrow import Cells, lengths, there
from evalkit.records.batch import Batch, Places, gathered, taken
from evalkit.records.cells import constant
from evalkit.records.checked import Marks, filling
from evalkit.records.fields import COLUMNS, PARTS, SIZED, of_rows, size_column, value_of

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
            for item in taken(reading):
                found[row.number] = asked(item, item.model_fields_set | mentioned)
        yield Batch(of_rows([*found.values()]), Places.of(np.array([*found], dtype=np.int64)))


def vouched(batch: pa.RecordBatch) -> tuple[pa.Table, Marks]:
    """All columns of the rows, and in which rows, (n,), they are what the models make of them; elsewhere they are not."""
    n, names = batch.num_rows, batch.schema.names
    found, sure = filling(EvalRecord, names, batch.columns, n)
    if "intent_pred_all" in found:
        found["intent_pred"] = _first_predictions(found.get("intent_pred"), found["intent_pred_all"])
    empty = asked(EvalRecord(sample_id="-"), set(names))
    told = dict(_columns(found, empty))
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
