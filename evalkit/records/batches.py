"""A file of records in batches of columns, and where in the file each record stands.

What a form of the file matches is taken apart by it; every other line goes through the models, and teaches the
forms once enough have.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData
from evalkit.reading import Block, Line, Reading, blocks
from evalkit.reading.files import take_line
from evalkit.records.asked import asked
from evalkit.records.cells import column_of, constant
from evalkit.records.fields import COLUMNS, of_rows
from evalkit.records.forms import Forms, Known, folded
from evalkit.records.places import Places

__all__ = ["Batch", "batches"]

LEARN_AFTER = 1 << 20
"""Bytes that the models read before they teach the forms: learning takes about as long as reading them."""

_LESSON = 64
_NEWLINE = ord("\n")
_SPACE = ord(" ")
_BOM = b"\xef\xbb\xbf"


class Batch(NamedTuple):
    """Some lines of a file: the records among them as columns, and where they stand."""

    columns: pa.Table
    places: Places


@dataclass(slots=True)
class _Seen:
    """What the lines of one block turned out to be: of a known form, or records that the models made."""

    by_form: dict[Known, list[tuple[Line, Sequence[str]]]] = field(default_factory=lambda: defaultdict(list))
    records: list[tuple[Line, EvalRecord]] = field(default_factory=list)


def batches(
    path: Path,
    reading: Reading[EvalRecord],
    *,
    columns: Mapping[str, pa.DataType] = COLUMNS,
    rejecting: bool = False,
    learn_after: int = LEARN_AFTER,
) -> Iterator[Batch]:
    """The records of a file of lines, a batch at a time, in the order of their lines.

    `columns` are the wanted ones. What is no record is put into `reading`, as by `reading.read`: faults, blank
    lines, a torn end, and with `rejecting` the bad lines; its items stay empty. After `learn_after` bytes that
    no form matched, forms are learned; then after twice as many, and so on. Raises NoInput where the file
    cannot be read.
    """
    reader = _Reader(path, reading, columns, rejecting=rejecting, learn_after=learn_after)
    try:
        for block in blocks(path):
            yield reader.whole(block) or reader.mixed(block)
    except BadData as end:
        reading.end(end.faults)


class _Reader:
    """Reads the blocks of one file, and learns from them how its lines look."""

    def __init__(
        self,
        path: Path,
        reading: Reading[EvalRecord],
        columns: Mapping[str, pa.DataType],
        *,
        rejecting: bool,
        learn_after: int,
    ) -> None:
        self._path, self._reading, self._columns, self._rejecting = path, reading, columns, rejecting
        self._forms = Forms(columns)
        self._constants: dict[tuple[int, str], pa.Array[Any]] = {}
        self._lesson: deque[tuple[bytes, EvalRecord]] = deque(maxlen=_LESSON)
        self._read = 0
        self._due = learn_after
        self._text_starts = 0

    def whole(self, block: Block) -> Batch | None:
        """The batch of a block all of whose lines are of the form that came last; None where one is not."""
        text = _plain(block.raw) if self._forms.known and block.raw.endswith(b"\n") else None
        if text is None:
            return None
        form = self._forms.known[0]
        rows = form.expression.findall(text)
        if len(rows) != block.raw.count(b"\n") or form.has_odd(rows):
            return None
        ends = np.flatnonzero(np.frombuffer(block.raw, dtype=np.uint8) == _NEWLINE).astype(np.int64) + 1
        starts = np.concatenate(([0], ends[:-1]))
        places = Places(block.number + np.arange(len(ends)), block.offset + starts, ends - starts - 1)
        return Batch(self._table(form, rows, is_folded="\x01" in text), places)

    def mixed(self, block: Block) -> Batch:
        """The batch of any block, line by line."""
        if block.offset == 0 and block.raw.startswith(_BOM):
            self._text_starts = len(_BOM)
        seen = _Seen()
        odd = _lines_with_controls(block.raw)
        for line in block.lines():
            if line.number - block.number in odd or not line.ended or not self._matched(line, seen):
                self._parsed(line, seen)
        return self._batch(seen)

    def _matched(self, line: Line, seen: _Seen) -> bool:
        """Whether a form took the line apart."""
        text = _text(line.raw)
        if text is None:
            return False
        for place, form in enumerate(self._forms.known):
            found = form.expression.fullmatch(text + "\n")
            if found and not form.has_odd([found.groups("")]):
                seen.by_form[form].append((line, found.groups("")))
                self._forms.prefer(place)
                return True
        return False

    def _parsed(self, line: Line, seen: _Seen) -> None:
        """The line by the models."""
        take_line(self._reading, self._path, line, EvalRecord, torn_tail=True, rejecting=self._rejecting)
        self._reading.numbers.clear()
        while self._reading.items:
            item = self._reading.items.pop()
            record = asked(item, item.model_fields_set)
            seen.records.append((line, record))
            self._lesson.append((line.raw, record))
            self._read += len(line.raw)
        if self._read > self._due:
            self._forms.learn(self._lesson)
            self._read, self._due = 0, 2 * self._due

    def _batch(self, seen: _Seen) -> Batch:
        lines, tables = (
            [line for line, _ in seen.records],
            [of_rows([row for _, row in seen.records], self._columns)],
        )
        for form, taken in seen.by_form.items():
            lines += [line for line, _ in taken]
            tables.append(self._table(form, [row for _, row in taken], is_folded=True))
        numbers, offsets, sizes = (
            np.array(column, dtype=np.int64).reshape(-1)
            for column in (
                [line.number for line in lines],
                [line.offset or self._text_starts for line in lines],
                [len(line.raw) for line in lines],
            )
        )
        order = np.argsort(numbers)
        table = pa.concat_tables([table for table in tables if len(table)] or tables[:1]).take(order)
        places = Places(numbers[order], offsets[order], sizes[order])
        return Batch(table, places)

    def _table(self, form: Known, rows: Sequence[Sequence[str]], *, is_folded: bool) -> pa.Table:
        cells = dict(zip(form.columns, zip(*rows, strict=True), strict=False))
        return pa.table(
            {
                name: column_of(name, cells[name], comma=form.comma, is_folded=is_folded)
                if name in cells
                else self._constant(form, name, len(rows))
                for name in self._columns
            }
        )

    def _constant(self, form: Known, name: str, n: int) -> pa.Array[Any]:
        """What all lines of a form hold; the longest so far is kept, and cut."""
        key = (id(form.sample), name)
        if key not in self._constants or len(self._constants[key]) < n:
            self._constants[key] = constant(name, form.sample, n)
        return self._constants[key].slice(0, n)


def _text(raw: bytes) -> str | None:
    """The line, or lines, with escapes folded; None where they are no UTF-8, or have an escape by number."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if b"\\" not in raw:
        return text
    text = folded(text)
    return None if "\\" in text else text


def _plain(raw: bytes) -> str | None:
    """As `_text`; None as well where there are controls, which no line of JSON holds raw."""
    controls = int(np.count_nonzero(np.frombuffer(raw, dtype=np.uint8) < _SPACE))
    return _text(raw) if controls == raw.count(b"\n") else None


def _lines_with_controls(raw: bytes) -> set[int]:
    """The lines, from 0, that hold a control: no form says anything of them."""
    data = np.frombuffer(raw, dtype=np.uint8)
    places = np.flatnonzero(data < _SPACE)
    ends = places[data[places] == _NEWLINE]
    return set(np.searchsorted(ends, places[data[places] != _NEWLINE]).tolist())
