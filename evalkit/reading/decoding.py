"""Bytes to JSON, strictly: what two readers could understand differently is refused.

No NaN, no duplicate keys, no integers that a double cannot hold, no nesting without bound, nothing but
UTF-8. A refusal is a `Refusal`: a ValueError whose two arguments are what was found and what was wanted.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from typing import Any

from evalkit.errors import Fault, shown

__all__ = ["MAX_DEPTH", "MAX_INT", "MAX_LINE_BYTES", "Refusal", "decode", "json_value", "too_deep"]

MAX_DEPTH = 64
MAX_INT = 2**53
MAX_LINE_BYTES = 16 * 2**20
_OTHER_ENCODINGS = {
    b"\xff\xfe": "a UTF-16 byte order mark",
    b"\xfe\xff": "a UTF-16 byte order mark",
    b"\x1f\x8b": "a gzip file",
}
_JSON_NAMES = {"list": "array", "str": "string", "bool": "boolean", "NoneType": "null"}
# A string that nothing ends runs to the end of the text, so that no character is looked at twice.
_NO_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[^][{}"]+', re.DOTALL)
_SURELY_SMALL = len(str(MAX_INT))


class Refusal(ValueError):
    """Why bytes are no such JSON; line and column count from 1, the column in characters, null where unknown."""

    def __init__(self, found: str, wanted: str, *, line: int = 1, column: int | None = None) -> None:
        super().__init__(found, wanted)
        self.line, self.column = line, column

    def fault(self, path: str, field: str, *, line: int | None = None) -> Fault:
        """The same, told of a field of a file: in its line `line`, or where the whole file is the text."""
        found, wanted = self.args
        return Fault(path, line or self.line, field, found, wanted, self.column)


def decode(raw: bytes) -> dict[str, Any]:
    """The JSON object in `raw`; Refusal where there is none, or not one alone."""
    value = json_value(raw, wanted="one JSON object")
    if not isinstance(value, dict):
        name = _JSON_NAMES.get(type(value).__name__, "number")
        raise Refusal(f"a JSON {name}", "a JSON object")
    return value


def json_value(raw: bytes, *, wanted: str = "one JSON value") -> Any:
    """The JSON value in `raw`; Refusal where there is none, or not one alone."""
    text = _text(raw)
    if too_deep(text):
        raise Refusal(f"nesting deeper than {MAX_DEPTH}", "flatter JSON")
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_int, parse_float=_float
        )
    except json.JSONDecodeError as error:
        found = error.msg.removesuffix(" at")  # of a control character
        raise Refusal(found, wanted, line=error.lineno, column=error.colno) from None


def too_deep(text: str) -> bool:
    """Whether brackets outside strings nest deeper than MAX_DEPTH; counting them all is the quick no."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return False
    depth = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            return True
    return False


def _text(raw: bytes) -> str:
    for mark, name in _OTHER_ENCODINGS.items():
        if raw.startswith(mark):
            raise Refusal(name, "UTF-8 text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"an invalid UTF-8 byte 0x{raw[error.start]:02x} at offset {error.start}"
        before = raw[: error.start].decode("utf-8")
        line, last = before.count("\n") + 1, before.rpartition("\n")[2]
        raise Refusal(found, "UTF-8 text", line=line, column=len(last) + 1) from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise Refusal(f"the key {shown(key)} twice", "each key once")
    return found


def _no_constant(name: str) -> None:
    raise Refusal(name, "a finite number or null")


def _int(digits: str) -> int:
    if len(digits) < _SURELY_SMALL:
        return int(digits)
    if len(digits.lstrip("-")) > len(str(MAX_INT)) or abs(int(digits)) >= MAX_INT:
        raise Refusal(f"the integer {digits[:24]}", "an integer below 2^53, or a string")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Refusal(f"the number {digits[:24]}", "a finite number")
    return value
