"""Lines of JSON in batches of columns, and where in the text each record stands.

What a form of the file matches is taken apart by it; every other line goes through the models, and teaches the
forms once enough have.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit.contracts import EvalRecord, asked
from evalkit.reading import Block, Line, Reading, blocks
from evalkit.reading.blocks import BOM
from evalkit.reading.files import take_line
from evalkit.records.batch import Batch, Places, gathered, taken
from evalkit.records.cells import column_of, constant
from evalkit.records.fields import COLUMNS, of_rows
from evalkit.records.folding import Folded, folded
from evalkit.records.forms import Forms, Known

__all__ = ["line_batches"]

LEARN_AFTER = 1 << 20
"""Bytes that the models read before they teach the forms: learning takes about as long as reading them."""

_BLOCK_BYTES = 4 << 20
"""What is read at once: enough rows that a column costs more than its making."""

_LESSON = 64
_NEWLINE = ord("\n")
_SPACE = ord(" ")


@dataclass(slots=True)
class _Seen:
    """What the lines of one block turned out to be: of a known form, or records that the models made."""

    by_form: dict[Known, list[tuple[Line, Sequence[str]]]] = field(default_factory=lambda: defaultdict(list))
    records: list[tuple[Line, EvalRecord]] = field(default_factory=list)
    signs: str = ""


def line_batches(
    path: Path,
    reading: Reading[EvalRecord],
    *,
    rejecting: bool = False,
    learn_after: int = LEARN_AFTER,
) -> Iterator[Batch]:
    """The records of a file of lines, a batch at a time, in the order of their lines.

    What is no record is put into `reading`, as by `reading.read`: faults, blank
    lines, a torn end, and with `rejecting` the bad lines; its items stay empty. After `learn_after` bytes that
    no form matched, forms are learned; then after twice as many, and so on. Raises as `blocks`.
    """
    reader = _Reader(path, reading, rejecting=rejecting, learn_after=learn_after)
    for block in blocks(path, size=_BLOCK_BYTES):
        yield reader.batch(block)


class _Reader:
    """Reads the blocks of one file, and learns from them how its lines look."""

    def __init__(
        self, path: Path, reading: Reading[EvalRecord], *, rejecting: bool, learn_after: int
    ) -> None:
        self._path, self._reading, self._rejecting = path, reading, rejecting
        self._forms = Forms()
        self._constants: dict[tuple[int, str], pa.Array[Any]] = {}
        self._lesson: deque[tuple[bytes, EvalRecord]] = deque(maxlen=_LESSON)
        self._read = 0
        self._due = learn_after
        self._text_starts = 0

    def batch(self, block: Block) -> Batch:
        """The batch of the next block."""
        odd, lines = _lines_with_controls(block.raw), folded(block.raw)
        return (None if odd else self._whole(block, lines)) or self._mixed(block, lines, odd)

    def _whole(self, block: Block, lines: Folded) -> Batch | None:
        """The batch of a block all of whose lines are of the form that came last; None where one is not."""
        raw, signs = lines
        if not self._forms.known or not raw.endswith(b"\n"):
            return None
        text = None if b"\\" in raw else _text(raw)
        form = self._forms.known[0]
        rows = form.expression.findall(text) if text else []
        if len(rows) != raw.count(b"\n") or form.has_odd(rows):
            return None
        ends = np.flatnonzero(np.frombuffer(raw, dtype=np.uint8) == _NEWLINE).astype(np.int64) + 1
        starts = np.concatenate(([0], ends[:-1]))
        places = Places(block.number + np.arange(len(ends)), block.offset + starts, ends - starts - 1)
        return Batch(self._table(form, rows, signs), places)

    def _mixed(self, block: Block, lines: Folded, odd: set[int]) -> Batch:
        """The batch of any block, line by line; those in `odd`, from 0, are nobody's form."""
        if block.offset == 0 and block.raw.startswith(BOM):
            self._text_starts = len(BOM)
        raw, signs = lines
        seen = _Seen(signs=signs)
        for line in block.lines():
            start = (line.offset or self._text_starts) - block.offset
            known = line.ended and line.number - block.number not in odd
            if not known or not self._matched(line, raw[start : start + len(line.raw)], seen):
                self._parsed(line, seen)
        return self._batch(seen)

    def _matched(self, line: Line, raw: bytes, seen: _Seen) -> bool:
        """Whether a form took the line apart, whose folded bytes are `raw`."""
        text = None if b"\\" in raw else _text(raw + b"\n")
        if text is None:
            return False
        for place, form in enumerate(self._forms.known):
            found = form.expression.fullmatch(text)
            if found and not form.has_odd([found.groups("")]):
                seen.by_form[form].append((line, found.groups("")))
                self._forms.prefer(place)
                return True
        return False

    def _parsed(self, line: Line, seen: _Seen) -> None:
        """The line by the models."""
        take_line(self._reading, self._path, line, EvalRecord, torn_tail=True, rejecting=self._rejecting)
        for item in taken(self._reading):
            record = asked(item, item.model_fields_set)
            seen.records.append((line, record))
            self._lesson.append((line.raw, record))
            self._read += len(line.raw)
        if self._read > self._due:
            self._forms.learn(self._lesson)
            self._read, self._due = 0, 2 * self._due

    def _batch(self, seen: _Seen) -> Batch:
        parts = [self._part(of_rows([row for _, row in seen.records]), [line for line, _ in seen.records])]
        for form, found in seen.by_form.items():
            table = self._table(form, [row for _, row in found], seen.signs)
            parts.append(self._part(table, [line for line, _ in found]))
        return gathered(parts)

    def _part(self, columns: pa.Table, lines: Sequence[Line]) -> Batch:
        """These lines as columns, and where they stand."""
        numbers, offsets, sizes = (
            np.array(column, dtype=np.int64)
            for column in (
                [line.number for line in lines],
                [line.offset or self._text_starts for line in lines],
                [len(line.raw) for line in lines],
            )
        )
        return Batch(columns, Places(numbers, offsets, sizes))

    def _table(self, form: Known, rows: Sequence[Sequence[str]], signs: str) -> pa.Table:
        cells = dict(zip(form.columns, zip(*rows, strict=True), strict=False))
        return pa.table(
            {
                name: column_of(name, cells[name], comma=form.comma, signs=signs)
                if name in cells
                else self._constant(form, name, len(rows))
                for name in COLUMNS
            }
        )

    def _constant(self, form: Known, name: str, n: int) -> pa.Array[Any]:
        """What all lines of a form hold; the longest so far is kept, and cut."""
        key = (id(form.sample), name)
        if key not in self._constants or len(self._constants[key]) < n:
            self._constants[key] = constant(name, form.sample, n)
        return self._constants[key].slice(0, n)


def _text(raw: bytes) -> str | None:
    """The text of the bytes; None where they are no UTF-8."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _lines_with_controls(raw: bytes) -> set[int]:
    """The lines, from 0, that hold a control: no form says anything of them."""
    data = np.frombuffer(raw, dtype=np.uint8)
    low = data < _SPACE
    if np.count_nonzero(low) == raw.count(b"\n"):
        return set()
    places = np.flatnonzero(low)
    ends = places[data[places] == _NEWLINE]
    return set(np.searchsorted(ends, places[data[places] != _NEWLINE]).tolist())
