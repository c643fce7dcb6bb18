"""Values of a JSON line as regular expressions that follow from a type and from one value that was accepted.

A pattern stands for texts that `decode` and the models accept without a second look: written as the value is,
with nothing in it that needs unfolding. What it does not match may still be right; somebody else has to say.
Strings are matched in lines whose escapes were folded away, so that every `"` is an end of one.
"""

from __future__ import annotations

import json
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

__all__ = ["ANY", "NULL", "Part", "Times", "branches", "fields_by_key", "key_pattern", "pattern"]

NULL = "null"
_DIGITS = "(?!0[0-9])[0-9]{1,15}+"  # below 2^53 whatever the digits are
_FRACTION = r"(?:\.[0-9]{1,17}+)?+"
_NUMBER = f"-?+{_DIGITS}{_FRACTION}"
_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_MOMENT = (
    f'"[12][0-9]{{3}}-{_DAY}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
    r'(?:\.[0-9]{1,6})?(?:Z|[-+](?:0[0-9]|1[0-3]):[0-5][0-9])"'
)
ANY = object()
"""The type of a value of which nothing is asked."""


Times: TypeAlias = Literal["any", "some", "one"]
"""How many items a list has; `some` and `one` say of other values that they are not null."""


def pattern(kind: Any, value: Any, *, comma: str, colon: str, times: Times = "any") -> str | None:
    """What such values look like, from their type and one of them; None where the type says too little.

    `comma` and `colon` are written as in the line, spaces included. Numbers, texts and lists of them are as
    free as the type is; objects have the keys of `value`, in its order.
    """
    return _Writer(comma, colon).pattern(kind, value, times)


def key_pattern(key: str, colon: str) -> str:
    """A key and what follows it, literally."""
    return re.escape(json.dumps(key, ensure_ascii=False) + colon)


class Part(NamedTuple):
    """The part of a model that a key fills: its name, its type with all that is asked of it, what it is when left out."""

    name: str
    kind: Any
    default: Any


@cache
def fields_by_key(model: type[BaseModel]) -> Mapping[str, Part]:
    """What each key of a JSON object fills of a model, aliases among the keys."""
    return {
        key: Part(name, _annotated(field), field.get_default(call_default_factory=True))
        for name, field in model.model_fields.items()
        for key in dict.fromkeys((name, *_aliases(field)))
    }


def _aliases(field: FieldInfo) -> Iterator[str]:
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else (alias,)
    yield from (choice for choice in choices if isinstance(choice, str))


def _is_nullable(kind: Any) -> bool:
    """Whether null is a value of the type itself."""
    kind = _bare(kind)[0]
    return types.NoneType in typing.get_args(kind) and typing.get_origin(kind) in _UNIONS


_UNIONS = (typing.Union, types.UnionType)


class _Writer:
    """Patterns in one way of writing JSON."""

    def __init__(self, comma: str, colon: str) -> None:
        self.comma, self.colon = comma, colon

    def pattern(self, kind: Any, value: Any, times: Times = "any") -> str | None:
        scalar = _scalar(kind) if times == "any" else _values(kind, or_null=False)
        if scalar is not None and (value is not None or _is_nullable(kind)):
            return scalar
        if value is None:
            return NULL
        for branch in branches(kind):
            found = self._composed(branch, value, times)
            if found is not None:
                return found
        return None

    def _composed(self, kind: Any, value: Any, times: Times) -> str | None:
        if _is_any(kind):
            return self._free(value)
        kind, _ = _bare(kind)
        origin = typing.get_origin(kind)
        if origin is tuple and isinstance(value, list):
            return self.items(typing.get_args(kind)[0], value, times)
        if origin is dict and isinstance(value, dict):
            item = typing.get_args(kind)[1]
            return self.members(dict.fromkeys(value, item), value)
        if isinstance(kind, type) and issubclass(kind, BaseModel) and isinstance(value, dict):
            known = fields_by_key(kind)
            kinds = {key: known[key].kind if key in known else ANY for key in value}
            return self.members(kinds, value)
        return None

    def items(self, kind: Any, values: Sequence[Any], times: Times = "any") -> str | None:
        """A list: of any length, or as `times` says, where its items are plain, else of items that look like these."""
        item = _scalar(kind)
        if item is None:
            found = dict.fromkeys(self.pattern(kind, value) for value in values)
            if None in found:
                return None
            if not found:
                return r"\[\]"
            item = "(?:" + "|".join(str(one) for one in found) + ")"
        some = f"{item}(?:{self.comma}{item})*+"
        return {"any": rf"\[(?:{some})?\]", "some": rf"\[{some}\]", "one": rf"\[{item}\]"}[times]

    def members(self, kinds: Mapping[str, Any], value: Mapping[str, Any]) -> str | None:
        """An object with these keys in this order."""
        found = []
        for key, item in value.items():
            one = self.pattern(kinds[key], item)
            if one is None:
                return None
            found.append(key_pattern(key, self.colon) + one)
        return r"\{" + self.comma.join(found) + r"\}"

    def _free(self, value: Any) -> str | None:
        """JSON of which nothing is asked but that it is JSON, in the shape of this value."""
        if isinstance(value, bool):
            return "(?:true|false)"
        if isinstance(value, str):
            return '"[^"]*+"'
        if isinstance(value, int | float):
            return _NUMBER
        if isinstance(value, list):
            return self.items(ANY, value)
        return self.members(dict.fromkeys(value, ANY), value)


def _annotated(field: FieldInfo) -> Any:
    """The type of a field with all that is asked of it."""
    kind: Any = field.annotation
    for ask in field.metadata:
        kind = Annotated[kind, ask]
    return kind


def _bare(kind: Any) -> tuple[Any, list[Any]]:
    """The type without what is asked of it beside, and that."""
    asks: list[Any] = []
    while typing.get_origin(kind) is Annotated:
        kind, *more = typing.get_args(kind)
        for ask in more:
            asks += ask.metadata if isinstance(ask, FieldInfo) else [ask]
    return getattr(kind, "__value__", kind), asks


def _is_any(kind: Any) -> bool:
    return kind is ANY or kind is Any or getattr(kind, "__name__", "") == "JsonValue"


def branches(kind: Any) -> list[Any]:
    """The types that a value may have, null apart."""
    bare = _bare(kind)[0]
    if not _is_any(kind) and typing.get_origin(bare) in _UNIONS:
        return [branch for branch in typing.get_args(bare) if branch is not types.NoneType]
    return [kind]


def _scalar(kind: Any) -> str | None:
    """All values of a plain type, null among them where it is one; None for types with parts."""
    if id(kind) not in _scalars:  # types as they stand in models cannot all be hashed
        _scalars[id(kind)] = (kind, _values(kind))
    return _scalars[id(kind)][1]


_scalars: dict[int, tuple[Any, str | None]] = {}


def _values(kind: Any, *, or_null: bool = True) -> str | None:
    if _is_any(kind) or _is_any(_bare(kind)[0]):
        return None
    asks = _bare(kind)[1]
    found = [_plain(branch, asks) for branch in branches(kind)]
    if None in found:
        return None
    choices = ([NULL] if or_null and _is_nullable(kind) else []) + [str(one) for one in found]
    return choices[0] if len(choices) == 1 else "(?:" + "|".join(choices) + ")"


def _plain(kind: Any, asks: Sequence[Any]) -> str | None:
    bare, more = _bare(kind)
    bounds = _bounds([*asks, *more])
    if typing.get_origin(bare) is Literal:
        return "(?:" + "|".join(re.escape(json.dumps(one)) for one in typing.get_args(bare)) + ")"
    if bare is str:
        low, high = int(bounds.get("min_length", 0)), bounds.get("max_length", "")
        return f'"[^"]{{{low},{high}}}+"' if high else f'"[^"]{"+" if low else "*"}+"'
    if bare is bool:
        return "(?:true|false)"
    if bare is datetime:
        return _MOMENT
    signs = {(): "-?+", (("ge", 0),): ""}
    sign = signs.get(tuple(bounds.items()))
    if sign is None or bare not in (int, float):
        return "[1-9][0-9]{0,14}" if bare is int and bounds == {"ge": 1} else None
    return sign + _DIGITS + (_FRACTION if bare is float else "")


def _bounds(asks: Sequence[Any]) -> dict[str, Any]:
    """What must hold of a value; lifts of other forms do not narrow the form that is written."""
    names = ("min_length", "max_length", "ge", "gt", "le", "lt", "multiple_of")
    asked = ((name, getattr(ask, name, None)) for ask in asks for name in names)
    return {name: limit for name, limit in asked if limit is not None}
