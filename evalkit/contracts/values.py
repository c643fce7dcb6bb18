"""What all nouns are made of: frozen models, ids, lists that null leaves empty, and calls of tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from numbers import Integral
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator
from pydantic.fields import FieldInfo

__all__ = [
    "Digits",
    "DocId",
    "Frozen",
    "IdText",
    "Milliseconds",
    "NullAsEmpty",
    "NullAsNoKeys",
    "SampleId",
    "ToolCall",
]


def _digits(value: object) -> object:
    """An id given as a whole number, lifted to its digits; a fraction or a flag is no id."""
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _empty_if_null(value: object) -> object:
    """Null where a list is wanted: the file of somebody who writes every field. Nothing was given."""
    return () if value is None else value


def _no_keys_if_null(value: object) -> object:
    """Null where an object is wanted, as for lists."""
    return {} if value is None else value


Digits = BeforeValidator(_digits)
Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
IdText = Annotated[str, Digits]
SampleId = Annotated[str, Field(min_length=1, max_length=256), Digits]
DocId = Annotated[str, Field(min_length=1), Digits]
NullAsEmpty = BeforeValidator(_empty_if_null)
NullAsNoKeys = BeforeValidator(_no_keys_if_null)


class Frozen(BaseModel):
    """A frozen value that keeps the fields it does not know; null is the default of a field that has another."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        populate_by_name=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_not_given(cls, data: Any) -> Any:
        """Null where the field cannot be null and has a default: the file of somebody who writes every field."""
        if not isinstance(data, Mapping) or not any(value is None for value in data.values()):
            return data
        names = _with_defaults(cls)
        return {name: value for name, value in data.items() if value is not None or name not in names}


@cache
def _with_defaults(model: type[BaseModel]) -> frozenset[str]:
    """The names, aliases among them, of the fields that have a default which is neither null nor what null is read as."""
    return frozenset(
        name
        for field_name, field in model.model_fields.items()
        if not field.is_required() and not {NullAsEmpty, NullAsNoKeys} & set(field.metadata)
        if field.get_default(call_default_factory=True, validated_data={}) is not None
        for name in (field_name, *_aliases(field))
    )


def _aliases(field: FieldInfo) -> Iterator[str]:
    alias = field.validation_alias
    choices = alias.choices if isinstance(alias, AliasChoices) else (alias,)
    yield from (choice for choice in choices if isinstance(choice, str))


class ToolCall(Frozen):
    """One call of a tool, expected or made: arguments, then result or error, and how long it took."""

    name: str = Field(min_length=1, validation_alias=AliasChoices("name", "tool", "tool_name"))
    """The tool; also read from `tool`, `tool_name`."""
    arguments: Annotated[dict[str, JsonValue], NullAsNoKeys] = Field(
        default_factory=dict, validation_alias=AliasChoices("arguments", "args", "parameters")
    )
    """What it is called with, by parameter; also read from `args`, `parameters`."""
    result: JsonValue = None
    """What it gave back."""
    error: str | None = None
    """Why it failed; null where it did not."""
    latency_ms: Milliseconds | None = None
    """How long it took."""
