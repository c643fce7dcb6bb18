"""A model to the one line that stands for it, such that what was written can be read."""

from __future__ import annotations

import json
import re
from typing import Any

from pydantic import BaseModel

from evalkit.reading.decoding import MAX_DEPTH, MAX_INT, MAX_LINE_BYTES, too_deep

__all__ = ["encode"]

_LINE_ENDS = {"\u2028": "\\u2028", "\u2029": "\\u2029", "\x85": "\\u0085"}
_LONG_INTEGER = re.compile(r"(?<![\d.])\d{16}")


def encode(item: BaseModel) -> bytes:
    """One line of JSON, `\\n` included, that `decode` accepts: UTF-8, every other line end escaped.

    A lone surrogate is escaped. What JSON can hold and `decode` refuses is written as text: an integer of
    2^53 or more as its digits, a list or object nested too deep as its JSON. Raises ValueError for a number
    that is not finite among unknown fields, and for a line too long to be read again.
    """
    fields = item.model_dump(mode="json")
    text = json.dumps(fields, ensure_ascii=False, allow_nan=False)
    if _LONG_INTEGER.search(text) or too_deep(text):
        text = json.dumps(_readable(fields, MAX_DEPTH), ensure_ascii=False)
    for char, escape in _LINE_ENDS.items():
        text = text.replace(char, escape)
    line = text.encode("utf-8", "backslashreplace")
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"found a line of {len(line):,} bytes, wanted at most {MAX_LINE_BYTES:,}")
    return line + b"\n"


def _readable(value: Any, room: int) -> Any:
    """The value without what `decode` refuses, with `room` more levels to nest."""
    if isinstance(value, int) and abs(value) >= MAX_INT:
        return str(value)
    if not isinstance(value, (dict, list)):
        return value
    if not room:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return [_readable(item, room - 1) for item in value]
    return {key: _readable(item, room - 1) for key, item in value.items()}
