"""Lines of JSON in batches of columns, and where in the text each record stands.

What a form of the file matches is taken apart by it; every other line goes through the models, and teaches the
forms once enough have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit.contracts import EvalRecord, asked
from evalkit.reading import Block, Line, Reading, blocks
from evalkit.reading.files import take_line
from evalkit.records.batch import Batch, Places, drained, gathered
from evalkit.records.block_lines import BlockLines, Whole
from evalkit.records.cells import column_of, constant
from evalkit.records.fields import COLUMNS, of_rows
from evalkit.records.forms import Forms
from evalkit.records.known import Known

__all__ = ["BLOCK_BYTES", "LEARN_AFTER", "line_batches"]

LEARN_AFTER = 1 << 20
"""Bytes that the models read before they teach the forms: learning takes about as long as reading them."""

BLOCK_BYTES = 4 << 20
"""What is read at once: enough rows that a column costs more than its making."""

_LESSON = 64


def line_batches(
    path: Path,
    reading: Reading[EvalRecord],
    *,
    rejecting: bool = False,
    learn_after: int = LEARN_AFTER,
    block_bytes: int = BLOCK_BYTES,
) -> Iterator[Batch]:
    """The records of a file of lines, a batch for each block of it, in the order of their lines.

    What is no record is put into `reading`, as by `reading.read`: faults, blank
    lines, a torn end, and with `rejecting` the bad lines; its items stay empty. After `learn_after` bytes that
    no form matched, forms are learned; then after twice as many, and so on. Raises as `blocks`.
    """
    reader = _Reader(path, reading, rejecting=rejecting, learn_after=learn_after)
    for block in blocks(path, size=block_bytes):
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

    def batch(self, block: Block) -> Batch:
        """The batch of the next block: the models first until a form is known, and last for what no form takes."""
        lines = BlockLines(block)
        left = np.arange(len(lines))
        first, left = self._by_models(lines, left, until_known=True)
        known, left = self._by_forms(lines, left)
        rest, _ = self._by_models(lines, left)
        return gathered([first, *known, rest])

    def _by_forms(self, lines: BlockLines, left: Whole) -> tuple[list[Batch], Whole]:
        """What each form takes of the lines that those before it left, and what is left in the end."""
        found: list[tuple[int, Known, Batch]] = []
        for form in self._forms.known:
            mine, cells = _matched(form, lines.text(left), len(left))
            if len(mine):
                table = self._table(form, cells, len(mine), lines.signs)
                found.append((-len(mine), form, Batch(table, lines.where(left[mine]))))
                left = np.delete(left, mine)
        self._forms.prefer([form for _, form, _ in sorted(found, key=lambda part: part[0])])
        return [batch for *_, batch in found], left

    def _by_models(self, lines: BlockLines, left: Whole, *, until_known: bool = False) -> tuple[Batch, Whole]:
        """The records among these lines, or among the first of them, and the lines that were not looked at."""
        places, records, n = list[tuple[int, int, int]](), list[EvalRecord](), 0
        for line in lines.at(left):
            if until_known and self._forms.known:
                break
            n += 1
            for record in self._parsed(line):
                places.append((line.number, lines.offset(line), len(line.raw)))
                records.append(record)
        where = np.array(places, dtype=np.int64).reshape(-1, len(Places._fields)).T
        return Batch(of_rows(records), Places(*where)), left[n:]

    def _parsed(self, line: Line) -> list[EvalRecord]:
        """The record of the line, if it is one."""
        take_line(self._reading, self._path, line, EvalRecord, torn_tail=True, rejecting=self._rejecting)
        records = [asked(item, item.model_fields_set) for item in drained(self._reading)]
        for record in records:
            self._lesson.append((line.raw, record))
            self._read += len(line.raw)
        if self._read > self._due:
            self._forms.learn(self._lesson)
            self._read, self._due = 0, 2 * self._due
        return records

    def _table(self, form: Known, given: Sequence[Sequence[bytes]], n: int, signs: bytes) -> pa.Table:
        cells = dict(zip(form.columns, given, strict=True))
        return pa.table(
            {
                name: column_of(name, cells[name], comma=form.comma, signs=signs)
                if name in cells
                else self._constant(form, name, n)
                for name in COLUMNS
            }
        )

    def _constant(self, form: Known, name: str, n: int) -> pa.Array[Any]:
        """What all lines of a form hold; the longest so far is kept, and cut."""
        key = (id(form.sample), name)
        if key not in self._constants or len(self._constants[key]) < n:
            self._constants[key] = constant(name, form.sample, n)
        return self._constants[key].slice(0, n)


def _matched(form: Known, text: bytes, n: int) -> tuple[Whole, Sequence[Sequence[bytes]]]:
    """Which of the `n` lines of the text the form matches, from 0, and the cells of each of its columns."""
    width = len(form.columns) + 1
    pieces = form.expression.split(text)
    between = [piece.count(b"\n") if piece else 0 for piece in pieces[::width]]
    if sum(between) + len(between) - 1 != n - (not text.endswith(b"\n")):
        return np.zeros(0, dtype=np.int64), []  # a string without its end goes on in another line
    lines = np.arange(len(between) - 1) + np.cumsum(between[:-1], dtype=np.int64)
    cells = [pieces[place::width] for place in range(1, width)]
    odd = form.odd(cells, len(lines))
    if odd:
        kept = np.delete(np.arange(len(lines)), odd)
        lines, cells = lines[kept], [[column[row] for row in kept.tolist()] for column in cells]
    return lines, cells
