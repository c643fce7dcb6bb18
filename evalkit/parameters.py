"""The parameters of an extension: its keyword-only arguments, what they take, and how a person writes them."""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any

from evalkit.errors import UsageError, shown

__all__ = ["check", "needed", "parameters_of", "written"]

Function = Callable[..., Any]

_PLAIN = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    types.NoneType: "null",
}
"""The types of parameters that are checked, in words."""


def parameters_of(function: Function) -> dict[str, inspect.Parameter]:
    """The parameters by name, in the order of the signature."""
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }


def needed(parameter: inspect.Parameter) -> bool:
    """Whether the parameter must be given."""
    return parameter.default is parameter.empty


def written(parameters: Mapping[str, inspect.Parameter], *, without: Collection[str] = ()) -> str:
    """The parameters as words: `model=VALUE` where it must be given, `[retries=2]` where it may be."""
    return " ".join(
        f"{name}=VALUE" if needed(parameter) else f"[{name}={_default(parameter)}]"
        for name, parameter in parameters.items()
        if name not in without
    )


def _default(parameter: inspect.Parameter) -> str:
    unset = parameter.default is None or parameter.default == ""
    return "VALUE" if unset else json.dumps(parameter.default, ensure_ascii=False, default=str)


def check(place: str, value: Any, function: Function, parameter: inspect.Parameter) -> None:
    """UsageError where a value is not of the plain type (text, number, flag, literal) that the function wants.

    A parameter of any other type, or of none, takes every value but text that UTF-8 cannot hold.
    """
    if isinstance(value, str) and value != value.encode("utf-8", "replace").decode("utf-8"):
        raise UsageError(f"{place}: found {shown(value)}, wanted text that UTF-8 can hold.")
    wanted = _plain(function, parameter.annotation)
    if wanted is Any:
        return
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # noqa: PLC0415 - only what is bound pays

    try:
        TypeAdapter(wanted, config=ConfigDict(strict=True, allow_inf_nan=False)).validate_python(value)
    except ValidationError:
        raise UsageError(f"{place}: found {shown(value)}, wanted {_said(wanted)}.") from None


def _plain(function: Function, annotation: Any) -> Any:
    """The annotation where a value can be held against it as it is; else what lets every value pass."""
    if isinstance(annotation, str):
        place = types.SimpleNamespace(__annotations__={"it": annotation})
        known = getattr(inspect.unwrap(function), "__globals__", {})
        try:
            annotation = typing.get_type_hints(place, known)["it"]
        except (AttributeError, NameError, SyntaxError, TypeError):
            return Any
    parts = typing.get_args(annotation)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return Any if Any in [_plain(function, part) for part in parts] else annotation
    plain = annotation in _PLAIN or typing.get_origin(annotation) is typing.Literal
    return annotation if plain else Any


def _said(wanted: Any) -> str:
    """A plain type in words."""
    if wanted in _PLAIN:
        return _PLAIN[wanted]
    literal = typing.get_origin(wanted) is typing.Literal
    parts = typing.get_args(wanted)
    return " or ".join(str(part) if literal else _said(part) for part in parts)
