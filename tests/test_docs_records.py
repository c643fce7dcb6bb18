"""The page on cases and records says of each field what the models say, and its examples are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from evalkit import contracts
from evalkit.contracts import AnswerStatus, Case, EvalRecord, EvidenceStatus, Observation
from evalkit.contracts.values import Frozen
from evalkit.reading import decode

PAGE = (Path(__file__).parent.parent / "docs" / "records.md").read_text(encoding="utf-8")
_LINE = EvalRecord.model_json_schema()
MODELS: dict[str, type[Frozen]] = {
    name: getattr(contracts, name)
    for name in ("Case", "Observation", "EvalRecord", "Manifest", *sorted(_LINE["$defs"]))
    if hasattr(contracts, name)
}
"""The models of a line and of what is in it, and of the file beside a run."""


def section(name: str) -> str:
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("name", MODELS)
def test_the_table_of_a_model_is_its_own_fields(name: str) -> None:
    """For a record: its fields beyond those of its case and its observation. `make docs` writes the tables."""
    halves = {*Case.model_fields, *Observation.model_fields} if name == "EvalRecord" else set()
    wanted = [
        (field, " ".join((info.description or "").split()))
        for field, info in MODELS[name].model_fields.items()
        if field not in halves
    ]
    assert re.findall(r"^\| `(\w+)` \| \S.*? \| (.+) \|$", section(name), re.MULTILINE) == wanted


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("Case", "| `sample_id` | text | "),
        ("Case", "| `requires_rag` | flag or null | "),
        ("Case", "| `asked_at` | time or null | "),
        ("Case", "| `rule_logic` | `all`, `any`, `weighted` | "),
        ("Case", "| `expected_tools` | list of ToolCall or null | "),
        ("SlotSpec", "| `value` | any | "),
        ("Observation", "| `intent_pred_all` | list of (text or null) | "),
        ("Observation", "| `trace_ids` | object | "),
        ("Timings", "| `events` | integer or null | "),
    ],
)
def test_types_are_told_in_plain_words(name: str, row: str) -> None:
    assert row in section(name)


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
