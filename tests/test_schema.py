"""The JSON Schema of what may stand in a line: complete, and described field by field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import AliasChoices

from evalkit.contracts import Case, EvalRecord
from evalkit.errors import UnknownName
from evalkit.schema import json_schema, nouns


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each property of the schema and of what it refers to, by its path."""
    for title, part in {"": schema, **schema["$defs"]}.items():
        for name, content in part.get("properties", {}).items():
            yield f"{title}.{name}", content


@pytest.mark.parametrize("noun", nouns())
def test_every_property_is_described(noun: str) -> None:
    found = dict(properties(json_schema(noun)))
    assert len(found) > 40
    for name, content in found.items():
        assert content.get("description", "").endswith((".", "…")), f"{name} has no description"


@pytest.mark.parametrize(("noun", "model"), [("case", Case), ("record", EvalRecord)])
def test_fields_stand_under_their_own_names_and_no_other(noun: str, model: type[Case]) -> None:
    schema = json_schema(noun)
    assert list(schema["properties"]) == list(model.model_fields)
    assert schema["required"] == ["sample_id"]
    assert schema["additionalProperties"] is True
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("name", EvalRecord.model_fields)
def test_aliases_are_told(name: str) -> None:
    field = EvalRecord.model_fields[name]
    aliases = field.validation_alias.choices if isinstance(field.validation_alias, AliasChoices) else []
    described = json_schema("record")["properties"][name]["description"]
    for alias in aliases:
        assert alias == name or f"`{alias}`" in described, f"{name} is also read from {alias}"


def test_another_noun_is_unknown() -> None:
    with pytest.raises(
        UnknownName, match=r"unknown schema 'cases'. Did you mean 'case'\? Known: case, record."
    ):
        json_schema("cases")
