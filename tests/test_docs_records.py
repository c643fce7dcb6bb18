"""The page on cases and records says of each field what the models say, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from evalkit import contracts
from evalkit.contracts import AnswerStatus, Case, EvalRecord, EvidenceStatus, Observation
from evalkit.contracts.values import Frozen
from evalkit.reading import decode

PAGE = (Path(__file__).parent.parent / "docs" / "records.md").read_text(encoding="utf-8")
WORDS = {name: name for name in ("integer", "number", "null", "object")} | {
    "string": "text",
    "boolean": "flag",
    "date-time": "time",
}
_LINE = EvalRecord.model_json_schema()
MODELS: dict[str, type[Frozen]] = {
    name: getattr(contracts, name)
    for name in ("Case", "Observation", "EvalRecord", "Manifest", *sorted(_LINE["$defs"]))
    if hasattr(contracts, name)
}
"""The models of a line and of what is in it, and of the file beside a run."""


def spelt(schema: dict[str, Any]) -> str:
    """The type of a field in the words of the page."""
    if "anyOf" in schema:
        return " or ".join(spelt(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        items = spelt(schema["items"])
        return f"list of ({items})" if " " in items else f"list of {items}"
    name = str(schema.get("$ref", "")).rpartition("/")[2].replace("JsonValue", "any")
    return name or WORDS[schema.get("format") or schema["type"]]


def table(name: str) -> list[str]:
    """The rows that the page must have for a model: its own fields, for a record those beyond its halves."""
    properties = MODELS[name].model_json_schema(by_alias=False)["properties"]
    if name == "EvalRecord":
        properties = {
            k: v for k, v in properties.items() if k not in {**Case.model_fields, **Observation.model_fields}
        }
    return [f"| `{key}` | {spelt(value)} | {value['description']} |" for key, value in properties.items()]


def section(name: str) -> str:
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", MODELS)
def test_the_table_of_a_model_is_its_fields(name: str) -> None:
    rows = [line for line in section(name).splitlines() if line.startswith("| `")]
    assert rows == table(name)


def test_there_is_no_table_of_anything_else() -> None:
    tables = [part.partition("\n")[0] for part in PAGE.split("\n## ")[1:] if "\n| field |" in part]
    assert sorted(tables) == sorted(MODELS)


def test_every_alias_is_in_the_table_of_aliases() -> None:
    pairs = {
        (alias, name)
        for model in MODELS.values()
        for name, field in model.model_fields.items()
        for alias in getattr(field.validation_alias, "choices", [])
        if alias != name
    }
    assert set(re.findall(r"^\| `(\w+)` \| `(\w+)` \|$", section("Aliases"), re.MULTILINE)) == pairs


@pytest.mark.parametrize(
    ("title", "kind"), [("Answer channel", AnswerStatus), ("Evidence channel", EvidenceStatus)]
)
def test_every_status_is_explained(title: str, kind: object) -> None:
    rows = section("Statuses").split(f"### {title}\n")[1].split("\n### ")[0]
    assert re.findall(r"^\| `(\w+)` \| \S", rows, re.MULTILINE) == list(get_args(kind))


@pytest.mark.parametrize("line", re.findall(r"^\{.*\}$", PAGE, re.MULTILINE))
def test_the_examples_are_records_without_unknown_fields(line: str) -> None:
    assert not EvalRecord.model_validate(decode(line.encode())).model_extra


def test_there_are_examples() -> None:
    assert len(re.findall(r"^\{.*\}$", PAGE, re.MULTILINE)) >= 3
