"""Strict readers of configuration: each takes where a value stands and the value, and gives it back typed.

A value that cannot mean anything is a UsageError that says where it stands, what was found, what was wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime
from typing import Any, NoReturn, TypeAlias, TypeVar

from evalkit.errors import UnknownName, UsageError, shown

__all__ = [
    "any_of",
    "day",
    "distance",
    "many",
    "mapping",
    "number",
    "one_of",
    "share",
    "table",
    "text",
    "whole",
]

_T = TypeVar("_T")
Reader: TypeAlias = Callable[[str, Any], _T]


def table(
    where: str, value: Any, readers: Mapping[str, Reader[Any]], *, required: Collection[str] = ()
) -> dict[str, Any]:
    """A table with only these keys, each read by its reader; UnknownName names the nearest key."""
    found = _table(where, value)
    for key in found:
        if key not in readers:
            raise UnknownName(f"key in {where}:", key, readers)
    for key in required:
        if key not in found:
            raise UsageError(f"{where}: found no {key!r}, wanted one; known keys: {', '.join(readers)}.")
    return {key: readers[key](f"{where}.{key}", item) for key, item in found.items()}


def mapping(reader: Reader[_T]) -> Reader[dict[str, _T]]:
    """A table with any keys, whose values `reader` reads."""
    return lambda where, value: {
        key: reader(f"{where}.{key}", item) for key, item in _table(where, value).items()
    }


def many(reader: Reader[_T]) -> Reader[tuple[_T, ...]]:
    """A list whose items `reader` reads; no item twice."""

    def read(where: str, value: Any) -> tuple[_T, ...]:
        if not isinstance(value, list):
            _refuse(where, value, "a list")
        items = tuple(reader(f"{where}[{place}]", item) for place, item in enumerate(value))
        for place, item in enumerate(items):
            if item in items[:place]:
                _refuse(where, value[place], "each item once")
        return items

    return read


def number(where: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        _refuse(where, value, "a finite number")
    return float(value)


def distance(where: str, value: Any) -> float:
    """A number that is not negative."""
    found = number(where, value)
    return found if found >= 0 else _refuse(where, value, "a number from 0 on")


def share(where: str, value: Any) -> float:
    """A share in 0–1."""
    found = number(where, value)
    return found if 0 <= found <= 1 else _refuse(where, value, "a share from 0 to 1")


def whole(where: str, value: Any) -> int:
    """A whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        _refuse(where, value, "a whole number from 1 on")
    return int(value)


def text(where: str, value: Any) -> str:
    """A text with something in it."""
    if not isinstance(value, str) or not value.strip():
        _refuse(where, value, "a text that is not empty")
    return str(value)


def day(where: str, value: Any) -> date:
    """A day, as TOML writes it or as text: 2026-09-30."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return _refuse(where, value, "a day such as 2026-09-30")


def one_of(*choices: str) -> Reader[str]:
    """One of these words; UnknownName names the nearest."""
    return lambda where, value: value if value in choices else _unknown(where, value, choices)


def any_of(reader: Reader[_T], choices: Collection[str]) -> Reader[dict[str, _T]]:
    """A table whose keys are among these words; UnknownName names the nearest."""
    return lambda where, value: table(where, value, dict.fromkeys(choices, reader))


def _table(where: str, value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else _refuse(where, value, "a table")


def _refuse(where: str, value: Any, wanted: str) -> NoReturn:
    raise UsageError(f"{where}: found {shown(value)}, wanted {wanted}.")


def _unknown(where: str, value: Any, choices: Collection[str]) -> NoReturn:
    raise UnknownName(f"value of {where}:", str(value), choices)
