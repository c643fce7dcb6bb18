"""Scenarios: cases in one JSON document, as strict as cases in lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases import check, load_cases
from evalkit.errors import BadData, NoInput


def written(folder: Path, text: str) -> Path:
    path = folder / "scenario.json"
    path.write_text(text, encoding="utf-8")
    return path


def case(name: str, **fields: Any) -> dict[str, Any]:
    return {"id": name, "messages": ["你好"], **fields}


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_the_cases_are_those_of_the_list(tmp_path: Path, indent: int | None, bom: str) -> None:
    told = {"name": "预约", "cases": [case("a"), case("b")], "other": [1, {"cases": [case("c")]}]}
    path = written(tmp_path, bom + json.dumps(told, ensure_ascii=False, indent=indent))
    assert [found.sample_id for found in load_cases(path)] == ["a", "b"]


def test_a_fault_names_the_line_in_which_its_case_begins(tmp_path: Path) -> None:
    text = '{\n "name": "x",\n "cases": [\n  {"id": "a"},\n\n  {"id": "b",\n   "eval_rules": [{"weight": 0}]},\n  7\n ]\n}'
    with pytest.raises(BadData) as caught:
        load_cases(written(tmp_path, text))
    faults = {(fault.line, fault.field) for fault in caught.value.faults}
    assert faults == {(6, "eval_rules[0].type"), (6, "eval_rules[0].weight"), (8, "line")}


def test_an_id_stands_once(tmp_path: Path) -> None:
    text = json.dumps({"cases": [case("a"), case("a")]}, indent=1)
    with pytest.raises(BadData, match="'a' again"):
        load_cases(written(tmp_path, text))


@pytest.mark.parametrize(
    "text",
    ["[]", "{}", '{"cases": {}}', "null", '{"cases": [', '{"cases": [], "cases": []}'],
    ids=["list", "no cases", "cases are no list", "null", "cut off", "key twice"],
)
def test_what_is_no_scenario_is_bad_data(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadData):
        load_cases(written(tmp_path, text))


def test_no_case_and_no_file_are_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput):
        load_cases(written(tmp_path, '{"cases": []}'))
    with pytest.raises(NoInput):
        load_cases(tmp_path / "missing.json")


def test_a_scenario_is_checked_as_an_eval_set_is(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"cases": [case("a", messages=["  "]), case("b")]}, indent=1))
    found = check(path)
    assert [(fault.line, fault.field) for fault in found.faults] == [(3, "query")]
