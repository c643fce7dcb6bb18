"""A model to the one line that stands for it, such that what was written can be read."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import Any

from pydantic import BaseModel, TypeAdapter

from evalkit.reading.decoding import MAX_DEPTH, MAX_INT, MAX_LINE_BYTES, too_deep

__all__ = ["encode", "escaped"]

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029]")
# A quick look for what may be refused: where it errs, it only costs time.
_SUSPECT = re.compile(r"(?<![\d.])\d{16}|NaN|Infinity")
_plain = partial(TypeAdapter(Any).dump_python, mode="json")
_json = partial(json.dumps, ensure_ascii=False, default=_plain)


def encode(item: BaseModel) -> bytes:
    """One line of JSON, `\\n` included, that `decode` accepts: UTF-8, other line ends and controls escaped.

    A lone surrogate is escaped. What `decode` refuses is written as what it accepts: an integer of 2^53 or
    more as its digits in a text, a list or object nested too deep as its JSON in a text, a number that is
    not finite as null. Raises ValueError for a line too long to be read again, and for what is no JSON.
    """
    fields = item.model_dump()
    text = _json(fields)
    if _SUSPECT.search(text) or too_deep(text):
        text = _json(_readable(fields, MAX_DEPTH), allow_nan=False)
    line = escaped(text)
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"found a line of {len(line):,} bytes, wanted at most {MAX_LINE_BYTES:,}")
    return line + b"\n"


def escaped(text: str) -> bytes:
    """A JSON text in UTF-8 that no reader cuts at a line separator and no terminal obeys.

    U+2028, U+2029, DEL and the C1 controls, U+0085 among them, stand as their escapes, and so does half of a
    surrogate pair; the values are the same.
    """
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode("utf-8", "backslashreplace")


def _readable(value: Any, room: int) -> Any:
    """The value without what `decode` refuses, with `room` more levels to nest; below zero is no bound."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= MAX_INT:
        return str(value)
    if not isinstance(value, (dict, list, tuple)):
        return value
    if not room:
        return _json(_readable(value, -1))
    if isinstance(value, dict):
        return {key: _readable(item, room - 1) for key, item in value.items()}
    return [_readable(item, room - 1) for item in value]
