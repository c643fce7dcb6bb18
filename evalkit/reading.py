"""The one door for bytes: lines of JSON in, lines of JSON out.

Lines end at `\\n` and nowhere else. Nothing is repaired in silence: a line that is not one JSON object,
or does not fit the model, is a `Fault` with its file, line and field.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from evalkit.errors import BadData, Fault, NoInput

__all__ = ["Line", "Reading", "decode", "encode", "lines", "parse", "read"]

_ModelT = TypeVar("_ModelT", bound=BaseModel)
MAX_LINE_BYTES = 16 * 2**20
MAX_DEPTH = 64
MAX_INT = 2**53
_BOM = b"\xef\xbb\xbf"
_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}


class Line(NamedTuple):
    """One line: its number from 1, the offset of its first byte, its bytes, and whether `\\n` ended it."""

    number: int
    offset: int
    raw: bytes
    ended: bool


@dataclass(frozen=True, slots=True)
class Reading(Generic[_ModelT]):
    """What a file held: `items` with the `numbers` of their lines, `faults`, and the counts of the rest."""

    items: list[_ModelT]
    numbers: list[int]
    faults: list[Fault]
    blank: int
    torn: int


class _BadLine(Exception):
    """A line that is not acceptable JSON: what was found, what was wanted."""

    def __init__(self, found: str, wanted: str) -> None:
        super().__init__(found, wanted)
        self.found, self.wanted = found, wanted


def lines(path: Path) -> Iterator[Line]:
    """The lines of the file, one at a time; NoInput where there is no such file."""
    try:
        file = path.open("rb")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NoInput(f"{path}: found no such file, wanted a JSONL file.") from None
    with file:
        number, offset = 0, 0
        while raw := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            body = raw.removeprefix(_BOM) if offset == 0 else raw
            yield Line(number, offset, body.rstrip(b"\r\n"), raw.endswith(b"\n"))
            offset += len(raw)
            if len(raw) > MAX_LINE_BYTES:
                raise BadData([_too_long(path, number)])


def _too_long(path: Path, number: int) -> Fault:
    return Fault(str(path), number, "line", f"more than {MAX_LINE_BYTES:,} bytes", "a shorter line")


def decode(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`, strictly: no NaN, no duplicate keys, no huge integers, no depth over 64.

    Raises ValueError whose arguments are what was found and what was wanted.
    """
    try:
        return _object(raw)
    except _BadLine as bad:
        raise ValueError(bad.found, bad.wanted) from None


def _object(raw: bytes) -> dict[str, Any]:
    text = _text(raw)
    if raw.count(b"[") + raw.count(b"{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise _BadLine(f"nesting deeper than {MAX_DEPTH}", "flatter JSON")
    try:
        value = json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_int, parse_float=_float
        )
    except json.JSONDecodeError as error:
        raise _BadLine(f"{error.msg} at column {error.colno}", "one JSON object") from None
    if not isinstance(value, dict):
        raise _BadLine(f"a JSON {type(value).__name__}", "a JSON object")
    return value


def _text(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _BadLine("a UTF-16 byte order mark", "UTF-8")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _BadLine(
            f"an invalid UTF-8 byte 0x{raw[error.start]:02x} at offset {error.start}", "UTF-8"
        ) from None


def _depth(text: str) -> int:
    """The deepest nesting of brackets outside strings."""
    depth = deepest = 0
    quoted = escaped = False
    for char in text:
        if quoted:
            quoted = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            quoted = True
        else:
            depth += (char in "[{") - (char in "]}")
            deepest = max(deepest, depth)
    return deepest


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _BadLine(f"the key {twice!r} twice", "each key once")
    return found


def _no_constant(name: str) -> None:
    raise _BadLine(name, "a finite number or null")


def _int(digits: str) -> int:
    if len(digits) > len(str(MAX_INT)) or abs(int(digits)) >= MAX_INT:
        raise _BadLine(f"the integer {digits[:24]}", "an integer below 2^53, or a string")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _BadLine(f"the number {digits[:24]}", "a finite number")
    return value


def parse(path: Path, line: Line, model: type[_ModelT]) -> _ModelT | list[Fault]:
    """The line as `model`, or each thing that is wrong with it."""
    try:
        return model.model_validate(_object(line.raw))
    except _BadLine as bad:
        return [Fault(str(path), line.number, "line", bad.found, bad.wanted)]
    except ValidationError as error:
        return [
            Fault(
                str(path),
                line.number,
                ".".join(str(part) for part in problem["loc"]) or "line",
                _shown(problem["type"], problem["input"]),
                problem["msg"],
            )
            for problem in error.errors(include_url=False)
        ]


def _shown(kind: str, value: object) -> str:
    """The offending value, short enough for one line."""
    text = "nothing" if kind == "missing" else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"  # noqa: PLR2004


def read(path: Path, model: type[_ModelT], *, torn_tail: bool = False) -> Reading[_ModelT]:
    """Every line of the file as `model`; `faults` names those that do not hold.

    With `torn_tail` a last line without its `\\n` that does not hold is counted as torn, not as a fault: a
    run that was killed, or that is still being written, ends so.
    """
    reading: Reading[_ModelT] = Reading([], [], [], 0, 0)
    blank = torn = 0
    for line in lines(path):
        if not line.raw.strip():
            blank += 1
            continue
        item = parse(path, line, model)
        if not isinstance(item, list):
            reading.items.append(item)
            reading.numbers.append(line.number)
        elif torn_tail and not line.ended:
            torn += 1
        else:
            reading.faults.extend(item)
    return Reading(reading.items, reading.numbers, reading.faults, blank, torn)


def encode(item: BaseModel) -> bytes:
    """One line of JSON, `\\n` included: UTF-8, finite numbers only, every other line end escaped."""
    text = json.dumps(item.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
    for char, escape in _LINE_ENDS.items():
        text = text.replace(char, escape)
    return text.encode("utf-8") + b"\n"
