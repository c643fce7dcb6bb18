"""Files of lines to models, and where each line that does not hold is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from evalkit.errors import BadData, Fault
from evalkit.reading.blocks import BOM, Line, lines
from evalkit.reading.decoding import MAX_LINE_BYTES, decode, json_value, shown
from evalkit.reading.sources import opened

__all__ = ["Reading", "document", "fit", "parse", "read"]

_ModelT = TypeVar("_ModelT", bound=BaseModel)
_MAX_NAME = 80
_WORDS = {
    "Input should be ": "",
    "Field required": "a value",
    "valid tuple": "list",
    "valid dictionary": "object",
    "a object": "an object",
}


@dataclass(frozen=True, slots=True)
class Reading(Generic[_ModelT]):
    """What a file held: `items` with the `numbers` of their lines, `faults`, and the counts of the rest."""

    items: list[_ModelT]
    numbers: list[int]
    faults: list[Fault]
    blank: int
    torn: int


def document(path: Path) -> Any:
    """The JSON value that the whole file is, as strictly as a line; NoInput or BadData where it is none."""
    with opened(path) as file:
        raw = file.read(MAX_LINE_BYTES + 1)
    if len(raw) > MAX_LINE_BYTES:
        raise BadData([Fault(str(path), 1, "file", f"more than {MAX_LINE_BYTES:,} bytes", "a smaller file")])
    try:
        return json_value(raw.removeprefix(BOM))
    except ValueError as bad:
        raise BadData([Fault(str(path), 1, "file", *bad.args)]) from None


def parse(path: Path, line: Line, model: type[_ModelT]) -> _ModelT | list[Fault]:
    """The line as `model`, or each thing that is wrong with it."""
    try:
        value = decode(line.raw)
    except ValueError as bad:
        return [Fault(str(path), line.number, "line", *bad.args)]
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
    path: Path, model: type[_ModelT], *, torn_tail: bool = False, max_line_bytes: int = MAX_LINE_BYTES
) -> Reading[_ModelT]:
    """Every line of the file as `model`; `faults` names those that do not hold.

    With `torn_tail` a last line without its `\\n` that does not hold is counted as torn, not as a fault: a
    run that was killed, or that is still being written, ends so. Lines are items, lines with faults, blank
    or torn; nothing else happens to them, except that a line too long is the last one read.
    """
    reading: Reading[_ModelT] = Reading([], [], [], 0, 0)
    blank = torn = 0
    try:
        for line in lines(path, max_bytes=max_line_bytes):
            if not line.raw.strip():
                blank += 1
            elif not isinstance(item := parse(path, line, model), list):
                reading.items.append(item)
                reading.numbers.append(line.number)
            elif torn_tail and not line.ended:
                torn += 1
            else:
                reading.faults.extend(item)
    except BadData as endless:
        reading.faults.extend(endless.faults)
    return Reading(reading.items, reading.numbers, reading.faults, blank, torn)
