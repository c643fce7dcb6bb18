"""Files of lines to models, and where each line that does not hold is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from evalkit.errors import BadData, Fault, shown
from evalkit.reading.blocks import BOM, Line, lines
from evalkit.reading.columnar import Part, Row, columns_of, is_table, parts, rows_of
from evalkit.reading.decoding import MAX_LINE_BYTES, Refusal, decode, json_value
from evalkit.reading.sources import opened

__all__ = ["Reading", "Reject", "document", "fit", "parse", "read", "take_line", "take_row", "take_rows"]

_ModelT = TypeVar("_ModelT", bound=BaseModel)
_MAX_NAME = 80
_WORDS = {
    "Input should be ": "",
    "Field required": "a value",
    "valid tuple": "list",
    "valid dictionary": "object",
    "a object": "an object",
}


class Reject(NamedTuple):
    """A line that did not hold: its number, the offset of its first byte, why, and its bytes.

    Of a row of a table the offset is null and the bytes are its cells as JSON.
    """

    line: int
    offset: int | None
    reason: str
    raw: bytes


@dataclass(slots=True)
class Reading(Generic[_ModelT]):
    """What a file held: `items` with the `numbers` of their lines, `faults`, and the counts of the rest.

    No more than `most` faults are kept, `more` counts those beyond: a large file may be bad in every line.
    `rejects` are the bad lines themselves where they were asked for, `columns` the names of a table's columns.
    `whole` is false where the file could not be read to its end; the last fault then says why.
    """

    items: list[_ModelT] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    blank: int = 0
    torn: int = 0
    rejects: list[Reject] = field(default_factory=list)
    columns: frozenset[str] = frozenset()
    whole: bool = True
    most: int = sys.maxsize
    more: int = 0

    def blame(self, faults: Sequence[Fault]) -> None:
        """Take in what is wrong with a line."""
        kept = faults[: max(0, self.most - len(self.faults))]
        self.faults.extend(kept)
        self.more += len(faults) - len(kept)

    def end(self, faults: Sequence[Fault]) -> None:
        """Take in why the rest could not be read, at the cost of the last faults where there is no room."""
        room = max(0, self.most - len(faults))
        self.more += len(self.faults[room:])
        self.faults[room:] = faults
        self.whole = False


def document(path: Path) -> Any:
    """The JSON value that the whole file is, as strictly as a line; NoInput or BadData where it is none."""
    with opened(path) as file:
        raw = file.read(MAX_LINE_BYTES + 1)
    if len(raw) > MAX_LINE_BYTES:
        raise BadData([Fault(str(path), 1, "file", f"more than {MAX_LINE_BYTES:,} bytes", "a smaller file")])
    try:
        return json_value(raw.removeprefix(BOM))
    except Refusal as bad:
        raise BadData([bad.fault(str(path), "file")]) from None


def parse(path: Path, line: Line, model: type[_ModelT]) -> _ModelT | list[Fault]:
    """The line as `model`, or each thing that is wrong with it."""
    try:
        value = decode(line.raw)
    except Refusal as bad:
        return [bad.fault(str(path), "line", line=line.number)]
    return fit(value, model, path=str(path), line=line.number)


def fit(value: Mapping[str, Any], model: type[_ModelT], *, path: str, line: int) -> _ModelT | list[Fault]:
    """The fields in `value` as `model`, or each thing that is wrong with them, told as at that place."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        return [
            Fault(
                path,
                line,
                _field(problem["loc"]) or "line",
                "nothing" if problem["type"] == "missing" else shown(problem["input"]),
                _wanted(problem["msg"]),
            )
            for problem in error.errors(include_url=False)
        ]


def _field(parts: Iterable[str | int]) -> str:
    """Where in the line: names after a dot, places in a list in brackets."""
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{_name(part)}" for part in parts
    ).removeprefix(".")


def _name(part: str) -> str:
    """A field's name, harmless in a terminal whoever chose it."""
    return part if part.isprintable() and len(part) <= _MAX_NAME else shown(part)


def _wanted(message: str) -> str:
    """What pydantic wanted, in the words of JSON."""
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    return message


def read(
    path: Path,
    model: type[_ModelT],
    *,
    torn_tail: bool = False,
    max_line_bytes: int = MAX_LINE_BYTES,
    rejecting: bool = False,
    most: int = sys.maxsize,
) -> Reading[_ModelT]:
    """Every line of the file, or row of a Parquet or Arrow file, as `model`; `faults` names those that do not hold.

    With `torn_tail` a last line without its `\\n` that does not hold is counted as torn, not as a fault: a
    run that was killed, or that is still being written, ends so. Lines are items, lines with faults, blank
    or torn; nothing else happens to them, except that a line too long, or a damaged place in compressed data,
    is the last that is read. With `rejecting` the bad lines are kept as they are, and `most` bounds the faults
    that are kept. NoInput where the file cannot be read.
    """
    reading: Reading[_ModelT] = Reading(most=most)
    try:
        if is_table(path):
            reading.columns = columns_of(path)
            take_rows(reading, path, parts(path), model, rejecting=rejecting)
        else:
            for line in lines(path, max_bytes=max_line_bytes):
                take_line(reading, path, line, model, torn_tail=torn_tail, rejecting=rejecting)
    except BadData as end:
        reading.end(end.faults)
    return reading


def take_line(
    reading: Reading[_ModelT],
    path: Path,
    line: Line,
    model: type[_ModelT],
    *,
    torn_tail: bool,
    rejecting: bool,
) -> None:
    """Put one more line of the file to what was read of it: an item, blank, torn or bad, as `read` says."""
    if not line.raw.strip():
        reading.blank += 1
        return
    item = parse(path, line, model)
    if isinstance(item, list) and torn_tail and not line.ended:
        reading.torn += 1
    elif isinstance(item, list):
        reading.blame(item)
        if rejecting:
            reading.rejects.append(Reject(line.number, line.offset, _reason(item), line.raw))
    else:
        reading.items.append(item)
        reading.numbers.append(line.number)


def take_rows(
    reading: Reading[_ModelT],
    name: str | Path,
    parts: Iterable[Part],
    model: type[_ModelT],
    *,
    rejecting: bool,
) -> None:
    """Put the rows of a table to what was read of it; raises BadData where it cannot go on."""
    for part in parts:
        for piece in part.pieces():
            for row in rows_of(name, piece):
                take_row(reading, name, row, model, rejecting=rejecting)


def take_row(
    reading: Reading[_ModelT], name: str | Path, row: Row, model: type[_ModelT], *, rejecting: bool
) -> None:
    """Put one more row of the table to what was read of it: an item, or bad."""
    item = row.faults or fit(row.cells, model, path=str(name), line=row.number)
    if isinstance(item, list):
        reading.blame(item)
        if rejecting:
            raw = json.dumps(row.cells, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
            reading.rejects.append(Reject(row.number, None, _reason(item), raw))
    else:
        reading.items.append(item)
        reading.numbers.append(row.number)


def _reason(faults: Iterable[Fault]) -> str:
    """The faults of one line without their place, but for the column."""
    return "; ".join(
        f"{fault.field}{f' column {fault.column}' if fault.column else ''}: "
        f"found {fault.found}, wanted {fault.wanted}"
        for fault in faults
    )
