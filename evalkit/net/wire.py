"""Text and JSON as they come off the wire: read strictly, stored so that any reader can take them.

Python's json accepts NaN, infinities and unpaired UTF-16 surrogates; a file of records holds none of them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, NoReturn

__all__ = ["Text", "decoded", "excerpt", "joined", "storable"]

_MAX_DEPTH = 64
_EXCERPT_BYTES = 2048
_SURROGATE = re.compile("[\ud800-\udfff]")


class Text(NamedTuple):
    """A text made of pieces, and whether half a surrogate pair was left over in it."""

    text: str
    lone_surrogate: bool


def decoded(text: str | bytes) -> Any:
    """The value of a JSON text; unpaired surrogates are left as they are, see `joined` and `storable`.

    Raises ValueError for what is no JSON, is not UTF-8, holds a number that is not finite, or nests deeper
    than 64.
    """
    source = text.decode("utf-8-sig") if isinstance(text, bytes) else text
    try:
        value = json.loads(source, parse_constant=_not_finite, parse_float=_finite)
    except RecursionError:
        raise ValueError(f"nested deeper than {_MAX_DEPTH}") from None
    _check_depth(value, _MAX_DEPTH)
    return value


def _not_finite(token: str) -> NoReturn:
    raise ValueError(f"{token} is not a JSON number")


def _finite(token: str) -> float:
    number = float(token)
    if not math.isfinite(number):
        _not_finite(token)
    return number


def _check_depth(value: Any, left: int) -> None:
    if not isinstance(value, dict | list):
        return
    if left == 0:
        raise ValueError(f"nested deeper than {_MAX_DEPTH}")
    for inner in value.values() if isinstance(value, dict) else value:
        _check_depth(inner, left - 1)


def joined(parts: Iterable[str]) -> Text:
    """The pieces as one text: halves of a surrogate pair that two pieces brought are one character again.

    A half without its other half is written out as the six characters that JSON has for it (`\\\\ud83d`).
    """
    text = "".join(parts)
    if not _SURROGATE.search(text):
        return Text(text, lone_surrogate=False)
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    escaped = _SURROGATE.sub(lambda half: f"\\u{ord(half[0]):04x}", paired)
    return Text(escaped, lone_surrogate=escaped != paired)


def storable(value: Any) -> Any:
    """The JSON value with every text in it as `joined` would write it."""
    if isinstance(value, str):
        return joined([value]).text
    if isinstance(value, list):
        return [storable(inner) for inner in value]
    if isinstance(value, dict):
        return {storable(key): storable(inner) for key, inner in value.items()}
    return value


def excerpt(body: bytes | str) -> str:
    """The first 2 KiB of a body, for an error message."""
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    return raw[:_EXCERPT_BYTES].decode("utf-8", "replace")
