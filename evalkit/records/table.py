"""A run as a sequence of records that is also a table, and where it comes from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from evalkit.contracts import EvalRecord, Observation
from evalkit.errors import BadData, Fault, NoInput
from evalkit.reading import fit, read
from evalkit.records.columns import Codes, Groups, Lists, crossed, grouped, locked

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIELDS_OF_RUN", "Records", "RecordsLike", "asked", "load"]

RecordsLike: TypeAlias = "Records | Sequence[EvalRecord] | str | PathLike[str] | pd.DataFrame"

_EVIDENCE_FIELDS = {
    name
    for name in (*Observation.model_fields, "retrieved_doc_ids_raw")
    if name.startswith(("evidence_", "intent_pred", "retrieved_", "sub_questions"))
}
_ANSWER_FIELDS = set(Observation.model_fields) - _EVIDENCE_FIELDS - {"trace_ids", "from_cache", "flags"}


FIELDS_OF_RUN = ("target",)
"""What a run has one of, and its manifest tells: all its records can be sliced by it."""


class Records(Sequence[EvalRecord]):
    """A run, by row and by column; make one with `Records.of`."""

    def __init__(self, rows: Sequence[EvalRecord], *, superseded: int = 0, torn: int = 0) -> None:
        """Wrap rows that are known to be good."""
        self._rows = rows
        self._codes: dict[str, int] = {}
        self._columns: dict[str, Codes] = {}
        self._groups: dict[str, Groups] = {}
        self.of_run: Mapping[str, str] = {}
        self.superseded = superseded
        self.torn = torn

    @classmethod
    def of(cls, source: RecordsLike) -> Records:
        """Records from a list, the path of a run, or a data frame; Records pass through.

        A channel of which a data frame has no column is `skipped`, as in `load`. Raises NoInput for a
        missing or empty file, BadData naming every line, or row of the frame, that does not hold.
        """
        if isinstance(source, Records):
            return source
        if isinstance(source, (str, PathLike)):
            return load(source)
        if hasattr(source, "to_dict"):
            return cls(_frame_records(source))
        return cls(list(source))

    @overload
    def __getitem__(self, index: int) -> EvalRecord: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[EvalRecord]: ...
    def __getitem__(self, index: int | slice) -> EvalRecord | Sequence[EvalRecord]:
        """The record, or the records, at that place."""
        return self._rows[index]

    def __len__(self) -> int:
        """How many records there are."""
        return len(self._rows)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The identity of each sample, in order."""
        return tuple(row.key for row in self._rows)

    @property
    def vocabulary(self) -> list[str]:
        """All texts coded so far: `vocabulary[code]` is the text."""
        return list(self._codes)

    def column(self, name: str) -> list[Any]:
        """The values of a field, `a.b` for a field within a field; null where a record has none."""
        values: list[Any] = list(self._rows)
        for part in name.split("."):
            values = [_field(value, part) for value in values]
        return values

    def codes(self, *names: str) -> tuple[Codes, ...]:
        """Each text column as (n,) int32 over one vocabulary; null and the empty text are -1."""
        return tuple(self._text_codes(name) for name in names)

    def lists(self, *names: str) -> tuple[Lists, ...]:
        """Each column of lists as offsets and codes over the same vocabulary; items that are null are -1."""
        return tuple(self._list_codes(name) for name in names)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers as (n,) float64; null is NaN, true is 1."""
        return np.array([np.nan if value is None else value for value in self.column(name)], dtype=np.float64)

    def told(self, name: str) -> NDArray[np.bool_]:
        """Where the field is not null, as (n,) bool."""
        return np.array([value is not None for value in self.column(name)], dtype=np.bool_)

    def given(self, name: str) -> NDArray[np.bool_]:
        """Where the field is neither null nor empty, as (n,) bool; zero and false are given."""
        return np.array(
            [
                value is not None and (not hasattr(value, "__len__") or len(value) > 0)
                for value in self.column(name)
            ],
            dtype=np.bool_,
        )

    def sizes(self, name: str) -> NDArray[np.int64]:
        """How many items the list, or the mapping, of each record has, as (n,); null has none."""
        return np.array([len(value) if value else 0 for value in self.column(name)], dtype=np.int64)

    def equals(self, name: str, text: str) -> NDArray[np.bool_]:
        """Where the text column is exactly `text`, as (n,) bool; nothing equals the empty text."""
        (codes,) = self.codes(name)
        found: NDArray[np.bool_] = codes == self._codes.get(text, -2)
        return found

    def contains(self, name: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Where the text column holds any of `texts`, as (n,) bool; null holds nothing."""
        cells = self.column(name)
        return np.array(
            [bool(cell) and any(text in cell for text in texts) for cell in cells], dtype=np.bool_
        )

    def groups(self, by: str) -> Groups:
        """The rows of each label of a column of texts, flags or tags; of columns `a,b`: of each combination."""
        if by not in self._groups:
            names = by.split(",")
            several = len(names) > 1
            self._groups[by] = (
                crossed([self.groups(name) for name in names]) if several else self._grouped(by)
            )
        return self._groups[by]

    def _grouped(self, name: str) -> Groups:
        values = self.column(name)
        if name in self.of_run and not any(values):
            values = [self.of_run[name]] * len(self)
        return grouped(values)

    def _code(self, text: str | None) -> int:
        return -1 if not text else self._codes.setdefault(text, len(self._codes))

    def _text_codes(self, name: str) -> Codes:
        if name not in self._columns:
            codes = np.array([self._code(text) for text in self.column(name)], dtype=np.int32)
            self._columns[name] = locked(codes)
        return self._columns[name]

    def _list_codes(self, name: str) -> Lists:
        values = self.column(name)
        sizes = [len(value) if value else 0 for value in values]
        offsets = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))).astype(np.int64)
        codes = np.array([self._code(text) for value in values for text in (value or ())], dtype=np.int32)
        return Lists(offsets, codes, np.array([value is None for value in values], dtype=np.bool_))


def load(path: str | PathLike[str]) -> Records:
    """The records of a run's JSONL file, ours or one written by others with only the fields it has.

    A torn last line is left out and counted in `torn`. Where a sample stands twice, the newest whose
    answer is ok (else the newest) is kept, the others are counted in `superseded`. A line that mentions
    no field of a channel and no status of it has that channel `skipped`: it was never asked.
    Raises NoInput, or BadData naming every bad line.
    """
    reading = read(Path(path), EvalRecord, torn_tail=True)
    if reading.faults:
        raise BadData(reading.faults)
    if not reading.items:
        raise NoInput(f"{path}: found no record, wanted at least one line.")
    rows = _newest([asked(record, record.model_fields_set) for record in reading.items])
    return Records(rows, superseded=len(reading.items) - len(rows), torn=reading.torn)


def asked(record: EvalRecord, given: set[str]) -> EvalRecord:
    """The record with the channels that no field in `given` speaks of marked as never asked."""
    skipped: dict[str, str] = {}
    if not given & _ANSWER_FIELDS:
        skipped["answer_status"] = "skipped"
    if not given & _EVIDENCE_FIELDS:
        skipped["evidence_status"] = "skipped"
    return record.model_copy(update=skipped) if skipped else record


def _newest(rows: Iterable[EvalRecord]) -> list[EvalRecord]:
    """One record a sample, in the order of first appearance."""
    kept: dict[str, EvalRecord] = {}
    for row in rows:
        before = kept.get(row.key)
        if before is None or row.answer_status == "ok" or before.answer_status != "ok":
            kept[row.key] = row
    return list(kept.values())


def _field(owner: object, name: str) -> Any:
    """A field, known or not, or a property of a model, or a key of a mapping; null where there is none."""
    if isinstance(owner, Mapping):
        return owner.get(name)
    if isinstance(owner, BaseModel) and name in (extra := owner.model_extra or {}):
        return extra[name]
    found = getattr(owner, name, None)
    return None if callable(found) else found


def _frame_records(frame: Any) -> list[EvalRecord]:
    """The rows of a data frame, without the cells that hold nothing."""
    rows: list[EvalRecord] = []
    faults: list[Fault] = []
    for number, cells in enumerate(frame.to_dict(orient="records"), start=1):
        # Parquet gives lists back as arrays.
        lists = {name: cell.tolist() for name, cell in cells.items() if isinstance(cell, np.ndarray)}
        given = {name: cell for name, cell in cells.items() if not _is_nothing(cell)} | lists
        item = fit(given, EvalRecord, path="data frame", line=number)
        if isinstance(item, list):
            faults.extend(item)
        else:
            rows.append(asked(item, set(cells)))
    if faults:
        raise BadData(faults)
    return rows


def _is_nothing(cell: object) -> bool:
    """Whether a cell is null: None, NaN, NaT or pandas' NA."""
    if isinstance(cell, float):
        return math.isnan(cell)
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"}
