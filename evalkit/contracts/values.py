"""What all nouns are made of: frozen models, ids, lists that null leaves empty, and calls of tools."""

from __future__ import annotations

from numbers import Integral
from typing import Annotated

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

__all__ = ["DocId", "Frozen", "IdText", "Milliseconds", "NullAsEmpty", "NullAsNoKeys", "SampleId", "ToolCall"]


def _digits(value: object) -> object:
    """An id given as a whole number, lifted to its digits; a fraction or a flag is no id."""
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


def _empty_if_null(value: object) -> object:
    """Null where a list is wanted: the file of somebody who writes every field. Nothing was given."""
    return () if value is None else value


def _no_keys_if_null(value: object) -> object:
    """Null where an object is wanted, as for lists."""
    return {} if value is None else value


Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
IdText = Annotated[str, BeforeValidator(_digits)]
SampleId = Annotated[str, Field(min_length=1, max_length=256), BeforeValidator(_digits)]
DocId = Annotated[str, Field(min_length=1), BeforeValidator(_digits)]
NullAsEmpty = BeforeValidator(_empty_if_null)
NullAsNoKeys = BeforeValidator(_no_keys_if_null)


class Frozen(BaseModel):
    """A frozen value that keeps the fields it does not know."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        populate_by_name=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


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
