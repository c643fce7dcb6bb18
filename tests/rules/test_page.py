"""The page on rules says of each rule what its signature says, and its examples are rules."""

from __future__ import annotations

import inspect
import json
import re
import typing
from pathlib import Path
from typing import Any

import pytest

from evalkit import registry
from evalkit.cases import load_cases
from evalkit.contracts import Case, Expectation
from evalkit.engines.rules import Models, check_rules
from evalkit.finding.personal import KINDS
from evalkit.rules.safety.bad_words import BLOCKED, categories
from evalkit.rules.scope import DialogScope, ReplyScope

PAGE = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
RULES = list(registry._BUILT_IN["rule"])
BLOCKS = re.findall(r"^```json\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def section(name: str) -> str:
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


def parameters(name: str) -> dict[str, inspect.Parameter]:
    return {
        key: parameter
        for key, parameter in inspect.signature(registry.lookup("rule", name)).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and key not in Models._fields
    }


@pytest.mark.parametrize("name", RULES)
def test_every_parameter_has_a_row(name: str) -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", section(name), re.MULTILINE))
    assert set(parameters(name)) <= rows


@pytest.mark.parametrize("name", RULES)
def test_every_default_is_told(name: str) -> None:
    for key, parameter in parameters(name).items():
        (row,) = re.findall(rf"^\| `{key}` \| (.*?) \|", section(name), re.MULTILINE)
        if parameter.default is inspect.Parameter.empty:
            assert row == "–"
        elif isinstance(parameter.default, str):
            assert row == f"`{parameter.default}`"
        elif parameter.default not in (None, ()):
            assert json.loads(row) == parameter.default


@pytest.mark.parametrize("name", RULES)
def test_every_scope_is_told(name: str) -> None:
    hints = typing.get_type_hints(registry.lookup("rule", name), include_extras=True)
    told = set(re.findall(r"`(\w+)`", section(name).split("Scope")[1].split("\n\n")[0]))
    known = set(typing.get_args(ReplyScope)) | set(typing.get_args(DialogScope))
    assert told & known == set(typing.get_args(hints.get("evaluation_scope"))) or name == "should_succeed"


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_an_example_that_is_one(name: str) -> None:
    (example,) = re.findall(r"^```json\n(.*?)^```", section(name), re.MULTILINE | re.DOTALL)
    told = json.loads(example)
    assert told["type"] == name
    check_rules([Case.model_validate({"sample_id": "1", "query": "?", "rules": [told]})])


def test_the_scenario_is_an_eval_set(tmp_path: Path) -> None:
    path = tmp_path / "repair.json"
    path.write_text(BLOCKS[0], encoding="utf-8")
    cases = load_cases(path)
    check_rules(cases)
    assert [rule.weight for rule in cases[0].rules] == [1.0, 2.0, 1.0]


def test_the_other_plan_is_a_case() -> None:
    told: dict[str, Any] = json.loads(BLOCKS[-1])
    case = Case.model_validate(told)
    check_rules([case])
    assert [rule.layer for rule in case.rules] == ["intent", "completion"]


def test_every_field_of_an_expectation_is_told() -> None:
    rows = set(re.findall(r"^\| `(\w+)` \|", PAGE.split("### Expectations")[1].split("###")[0], re.MULTILINE))
    assert rows - {"field"} == set(Expectation.model_fields)


def test_every_category_is_told() -> None:
    for name in (categories() | KINDS) - {BLOCKED}:
        assert f"`{name}`" in section("safety")
