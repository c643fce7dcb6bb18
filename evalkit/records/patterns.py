"""Values of a JSON line as regular expressions that follow from a type and from one value that was accepted.

A pattern stands for texts that `decode` and the models accept without a second look: written as the value is,
with nothing in it that needs unfolding. What it does not match may still be right; somebody else has to say.
Strings are matched in lines whose escapes were folded away, so that every `"` is an end of one. What is matched are
bytes of UTF-8.
"""

from __future__ import annotations

import json
import re
import typing
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel

from evalkit.records.annotations import ANY, bare, bounds, branches, fields_by_key, is_any, is_nullable

__all__ = ["NULL", "Times", "key_pattern", "pattern"]

NULL = "null"
_DIGITS = "(?!0[0-9])[0-9]{1,15}+"  # below 2^53 whatever the digits are
_FRACTION = r"(?:\.[0-9]{1,17}+)?+"
_NUMBER = f"-?+{_DIGITS}{_FRACTION}"
_CHARACTER = r'[^"\x80-\xbf][\x80-\xbf]*+'
"""A character in UTF-8: it begins with a byte that continues none."""
_DAY = "(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
_MOMENT = (
    f'"[12][0-9]{{3}}-{_DAY}T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]'
    r'(?:\.[0-9]{1,6})?(?:Z|[-+](?:0[0-9]|1[0-3]):[0-5][0-9])"'
)

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


class _Writer:
    """Patterns in one way of writing JSON."""

    def __init__(self, comma: str, colon: str) -> None:
        self.comma, self.colon = comma, colon

    def pattern(self, kind: Any, value: Any, times: Times = "any") -> str | None:
        scalar = _scalar(kind) if times == "any" else _values(kind, or_null=False)
        if scalar is not None and (value is not None or is_nullable(kind)):
            return scalar
        if value is None:
            return NULL
        for branch in branches(kind):
            found = self._composed(branch, value, times)
            if found is not None:
                return found
        return None

    def _composed(self, kind: Any, value: Any, times: Times) -> str | None:
        if is_any(kind):
            return self._free(value)
        kind, _ = bare(kind)
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


def _scalar(kind: Any) -> str | None:
    """All values of a plain type, null among them where it is one; None for types with parts."""
    if id(kind) not in _scalars:  # types as they stand in models cannot all be hashed
        _scalars[id(kind)] = (kind, _values(kind))
    return _scalars[id(kind)][1]


_scalars: dict[int, tuple[Any, str | None]] = {}


def _values(kind: Any, *, or_null: bool = True) -> str | None:
    if is_any(kind) or is_any(bare(kind)[0]):
        return None
    constraints = bare(kind)[1]
    found = [_plain(branch, constraints) for branch in branches(kind)]
    if None in found:
        return None
    choices = ([NULL] if or_null and is_nullable(kind) else []) + [str(one) for one in found]
    return choices[0] if len(choices) == 1 else "(?:" + "|".join(choices) + ")"


def _plain(kind: Any, constraints: Sequence[Any]) -> str | None:
    plain, more = bare(kind)
    limits = bounds([*constraints, *more])
    if typing.get_origin(plain) is Literal:
        return "(?:" + "|".join(re.escape(json.dumps(one)) for one in typing.get_args(plain)) + ")"
    if plain is str:
        low, high = int(limits.get("min_length", 0)), limits.get("max_length", "")
        return f'"(?:{_CHARACTER}){{{low},{high}}}+"' if high else f'"[^"]{"+" if low else "*"}+"'
    if plain is bool:
        return "(?:true|false)"
    if plain is datetime:
        return _MOMENT
    signs = {(): "-?+", (("ge", 0),): ""}
    sign = signs.get(tuple(limits.items()))
    if sign is None or plain not in (int, float):
        return "[1-9][0-9]{0,14}" if plain is int and limits == {"ge": 1} else None
    return sign + _DIGITS + (_FRACTION if plain is float else "")
