"""Calls of tools as texts: equal arguments are equal texts, however they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from json.encoder import encode_basestring as _quoted
from typing import Any, TypeAlias

from evalkit.contracts import ToolCall

__all__ = ["Call", "arguments", "canonical", "in_texts"]

Call: TypeAlias = tuple[str, list[str]]
"""The name of a call, and its arguments."""


def in_texts(calls: Iterable[ToolCall] | None) -> list[Call] | None:
    """The calls in their order; null stays null."""
    return None if calls is None else [(call.name, arguments(call.arguments)) for call in calls]


def arguments(given: Mapping[str, object]) -> list[str]:
    """Each argument as `"key":value`, the value in canonical form."""
    return [f"{_quoted(key)}:{canonical(value)}" for key, value in given.items()]


def canonical(value: object) -> str:
    """A JSON value as a text, the same for equal values: 1 is 1.0, but true is not 1; objects have no order, lists do.

    Whole numbers stand in hexadecimal digits, of which there may be as many as there are.
    """
    form = _FORMS.get(type(value)) or next(
        (form for kind, form in _FORMS.items() if isinstance(value, kind)), repr
    )
    return form(value)


_FORMS: Mapping[type, Callable[[Any], str]] = {
    str: _quoted,
    bool: lambda value: "true" if value else "false",
    int: hex,
    float: lambda value: hex(int(value)) if value.is_integer() else repr(value),
    type(None): lambda _: "null",
    list: lambda value: f"[{','.join(map(canonical, value))}]",
    dict: lambda value: f"{{{','.join(sorted(arguments(value)))}}}",
}
