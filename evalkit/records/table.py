"""A run as a sequence of records that is also a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.reading import Intake
from evalkit.records.by_row import ByRow
from evalkit.records.columnar import Columns
from evalkit.records.columns import Codes, Groups, Lists, ToolCalls, crossed, grouped, labelled, locked
from evalkit.records.fields import SIZED, call_column
from evalkit.records.frames import from_frame
from evalkit.records.lazy import Changed
from evalkit.records.loading import ROWS_UP_TO, from_file, from_table
from evalkit.records.superseding import keys_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["FIELDS_OF_RUN", "Records", "RecordsLike", "load"]

RecordsLike: TypeAlias = "Records | Sequence[EvalRecord] | str | PathLike[str] | pa.Table | pd.DataFrame"


FIELDS_OF_RUN = ("target",)
"""What a run has one of, and its manifest tells: all its records can be sliced by it."""


class Records(Sequence[EvalRecord]):
    """A run, by row and by column; make one with `Records.of`."""

    def __init__(
        self,
        rows: Sequence[EvalRecord],
        *,
        columns: Columns | None = None,
        superseded: int = 0,
        torn: int = 0,
    ) -> None:
        """Wrap rows that are known to be good, and the columns of them that are there already."""
        self._rows = rows
        self._kept = columns
        self._by_row = ByRow(rows)
        self._vocabulary: dict[str, int] = {}
        self._codes: dict[str, Codes] = {}
        self._lists: dict[str, Lists] = {}
        self._groups: dict[str, Groups] = {}
        self.of_run: Mapping[str, str] = {}
        self.superseded = superseded
        self.torn = torn

    @classmethod
    def of(cls, source: RecordsLike) -> Records:
        """Records from a list, the path of a run, an Arrow table or a data frame; Records pass through.

        A channel of which a table or a frame has no column is `skipped`, as in `load`. Raises NoInput for a
        missing or empty file, BadData naming every line or row that does not hold.
        """
        if isinstance(source, Records):
            return source
        if isinstance(source, (str, PathLike)):
            return load(source)
        if isinstance(source, pa.Table) or hasattr(source, "to_dict"):
            found = from_table(source) if isinstance(source, pa.Table) else from_frame(source)
            return cls(found.rows, columns=found.columns)
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
        return tuple(row.key for row in self._rows) if self._kept is None else tuple(keys_of(self._kept))

    @property
    def vocabulary(self) -> list[str]:
        """All texts coded so far: `vocabulary[code]` is the text."""
        return list(self._vocabulary)

    def column(self, name: str) -> list[Any]:
        """The values of a field, `a.b` for a field within a field; null where a record has none."""
        return self._of(name).values(name)

    def codes(self, *names: str) -> tuple[Codes, ...]:
        """Each text column as (n,) int32 over one vocabulary; null and the empty text are -1."""
        return tuple(self._text_codes(name) for name in names)

    def lists(self, *names: str) -> tuple[Lists, ...]:
        """Each column of lists as offsets and codes over the same vocabulary; items that are null are -1."""
        return tuple(self._coded_lists(name) for name in names)

    def calls(self, *names: str) -> tuple[ToolCalls, ...]:
        """Each column of calls, `expected_tools` or `calls_made`, over two vocabularies that only these columns share.

        Names have codes over one of them, arguments over the other.
        """
        kept = self._kept
        has_all = kept is not None and all(call_column(name) in kept for name in names)
        return (kept if kept is not None and has_all else self._by_row).calls(names)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of numbers as (n,) float64; null is NaN, true is 1."""
        if name == "needs_retrieval" and self._kept is not None:
            return self._needs_retrieval()
        return self._of(name).numbers(name)

    def told(self, name: str) -> NDArray[np.bool_]:
        """Where the field is not null, as (n,) bool."""
        return self._of(name, sized=True).told(name)

    def given(self, name: str) -> NDArray[np.bool_]:
        """Where the field is neither null nor empty, as (n,) bool; zero and false are given."""
        return self._of(name, sized=True).given(name)

    def sizes(self, name: str) -> NDArray[np.int64]:
        """How many items the list, or the mapping, of each record has, as (n,); null has none."""
        return self._of(name, sized=name in SIZED).sizes(name)

    def contains(self, name: str, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Where the text column holds any of `texts`, as (n,) bool; null holds nothing."""
        return self._of(name).contains(name, texts)

    def equals(self, name: str, text: str) -> NDArray[np.bool_]:
        """Where the text column is exactly `text`, as (n,) bool; nothing equals the empty text."""
        (codes,) = self.codes(name)
        found: NDArray[np.bool_] = codes == self._vocabulary.get(text, -2)
        return found

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
        if self._kept is not None and self._kept.has_texts(name):
            codes = self._text_codes(name)
            rows = np.flatnonzero(codes >= 0)
            return labelled(rows, codes[rows], self.vocabulary)
        if self._kept is not None and self._kept.has_lists(name):
            (lists,) = self.lists(name)
            ranked = lists.ranked()
            return labelled(ranked.rows, ranked.codes, self.vocabulary)
        values = self.column(name)
        if name in self.of_run and not any(values):
            values = [self.of_run[name]] * len(self)
        return grouped(values)

    def replaced(self, changes: Mapping[int, EvalRecord]) -> Records:
        """The same records, those in `changes` by their row instead."""
        if not changes:
            return self
        columns = None if self._kept is None else self._kept.replaced(changes)
        rows = Changed(self._rows, changes)
        found = Records(rows, columns=columns, superseded=self.superseded, torn=self.torn)
        found.of_run = self.of_run
        return found

    def _of(self, name: str, *, sized: bool = False) -> ByRow | Columns:
        """What knows the field: the columns that are kept, else the rows."""
        kept = self._kept
        return kept if kept is not None and (name in kept or (sized and kept.sized(name))) else self._by_row

    def _code(self, text: str | None) -> int:
        return -1 if not text else self._vocabulary.setdefault(text, len(self._vocabulary))

    def _text_codes(self, name: str) -> Codes:
        if name not in self._codes:
            self._codes[name] = locked(self._of(name).codes(name, self._code))
        return self._codes[name]

    def _coded_lists(self, name: str) -> Lists:
        if name not in self._lists:
            offsets, codes, missing = self._of(name).lists(name, self._code)
            self._lists[name] = Lists(locked(offsets), locked(codes), locked(missing))
        return self._lists[name]

    def _needs_retrieval(self) -> NDArray[np.float64]:
        """As `Case.needs_retrieval`, from its columns."""
        said = self.numbers("requires_rag")
        return np.where(np.isnan(said) & self.given("reference_doc_ids"), 1.0, said)


def load(path: str | PathLike[str], *, intake: Intake | None = None, rows_up_to: int = ROWS_UP_TO) -> Records:
    """The records of a run's file; as `loading.from_file`."""
    rows, columns, superseded, torn = from_file(path, intake=intake, rows_up_to=rows_up_to)
    return Records(rows, columns=columns, superseded=superseded, torn=torn)
