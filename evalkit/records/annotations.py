"""What the models ask of each field, read off their annotations: for those who check values without making a record."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

__all__ = ["ANY", "Part", "bare", "bounds", "branches", "fields_by_key", "is_any", "is_nullable"]

ANY = object()
"""The type of a value of which nothing is asked."""

_UNIONS = (typing.Union, types.UnionType)


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


def is_nullable(kind: Any) -> bool:
    """Whether null is a value of the type itself."""
    plain = bare(kind)[0]
    return types.NoneType in typing.get_args(plain) and typing.get_origin(plain) in _UNIONS


def _annotated(field: FieldInfo) -> Any:
    """The type of a field with all that is asked of it."""
    kind: Any = field.annotation
    for constraint in field.metadata:
        kind = Annotated[kind, constraint]
    return kind


def bare(kind: Any) -> tuple[Any, list[Any]]:
    """The type without what is asked of it beside, and that."""
    constraints: list[Any] = []
    while typing.get_origin(kind) is Annotated:
        kind, *more = typing.get_args(kind)
        for constraint in more:
            constraints += constraint.metadata if isinstance(constraint, FieldInfo) else [constraint]
    return getattr(kind, "__value__", kind), constraints


def is_any(kind: Any) -> bool:
    """Whether nothing is asked of such values."""
    return kind is ANY or kind is Any or getattr(kind, "__name__", "") == "JsonValue"


def branches(kind: Any) -> list[Any]:
    """The types that a value may have, null apart."""
    plain = bare(kind)[0]
    if not is_any(kind) and typing.get_origin(plain) in _UNIONS:
        return [branch for branch in typing.get_args(plain) if branch is not types.NoneType]
    return [kind]


def bounds(constraints: Sequence[Any]) -> dict[str, Any]:
    """What must hold of a value; lifts of other forms do not narrow the form that is written."""
    names = ("min_length", "max_length", "ge", "gt", "le", "lt", "multiple_of")
    found = ((name, getattr(constraint, name, None)) for constraint in constraints for name in names)
    return {name: limit for name, limit in found if limit is not None}
