"""The contracts as JSON Schema, for editors that complete and programs that validate."""

from __future__ import annotations

from typing import Any

from evalkit.contracts import Case, EvalRecord
from evalkit.errors import UnknownName

__all__ = ["json_schema", "nouns"]

_MODELS = {"case": Case, "record": EvalRecord}


def nouns() -> list[str]:
    """What there is a schema of."""
    return list(_MODELS)


def json_schema(noun: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a `case` or a `record`: of the form that evalkit writes.

    Fields stand under their own names; the aliases and other forms that are read as well are told in the
    descriptions. UnknownName lists the nouns.
    """
    if noun not in _MODELS:
        raise UnknownName("schema", noun, _MODELS)
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return dialect | _MODELS[noun].model_json_schema(by_alias=False)
