"""`check` names every rule that means nothing, beside everything else that is wrong with the eval set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from evalkit.cli import commands

SOUND = {"type": "keyword_match", "params": {"keywords": ["退货"]}}
CASES: list[dict[str, Any]] = [
    {"sample_id": "1", "query": "能退吗", "rules": [SOUND, {"type": "keyword_mach"}]},
    {"sample_id": "2", "query": " "},
    {
        "sample_id": "3",
        "query": "多久到账",
        "rules": [
            {"type": "keyword_match", "params": {"min_match_ratio": 1.5, "keywords": "退款", "keyword": []}},
            {"type": "response_time"},
            {"type": "task_completion", "params": {"slot_weight": 0.5}},
        ],
    },
    {"sample_id": "4", "query": "运费谁出", "rules": [SOUND], "rule_logic": "weighted"},
    {"sample_id": "5", "query": "怎么换货", "rules": [SOUND | {"weight": 0}]},
    {"sample_id": "6", "query": "能换吗", "expectation": {"forbidden": [" "]}},
]
WANTED = [
    (1, "rules[1]", "'keyword_mach'", "Did you mean 'keyword_match'"),
    (2, "query", "neither a query nor messages", "one of them"),
    (3, "rules[0]", "min_match_ratio 1.5", "less than or equal to 1"),
    (3, "rules[0]", "keywords '退款'", "array"),
    (3, "rules[0]", "unknown keyword", "keywords, min_match_ratio, forbidden"),
    (3, "rules[1]", "missing max_latency_ms", "max_latency_ms (required)"),
    (3, "rules[2]", "slot_weight 0.5 and step_weight 0.6", "two that sum to 1"),
    (4, "rule_pass_threshold", "none for rule_logic", "a number from 0 to 1"),
    (5, "rules[0].weight", "0", "greater than 0"),
    (6, "expectation.forbidden", "the keyword ' '", "one that is not empty"),
]


@pytest.fixture
def eval_set(tmp_path: Path) -> Path:
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(case, ensure_ascii=False) + "\n" for case in CASES), encoding="utf-8")
    return path


def test_the_law_of_lines_is_printed(eval_set: Path) -> None:
    with eval_set.open("ab") as file:
        file.write(b"\n{bad\n")
    told = CliRunner().invoke(commands, ["check", str(eval_set)]).stdout
    assert "set.jsonl: 8 lines = 5 ok + 2 rejected + 1 blank + 0 torn\n" in told
    counts = json.loads(CliRunner().invoke(commands, ["check", str(eval_set), "--json"]).stdout)["lines"]
    assert counts == {"lines": 8, "ok": 5, "rejected": 2, "blank": 1, "torn": 0}


def test_every_bad_rule_is_a_fault_of_its_line(eval_set: Path) -> None:
    done = CliRunner().invoke(commands, ["check", str(eval_set), "--json"])
    assert done.exit_code == 65
    told = json.loads(done.stdout)
    assert told["n_faults"] == len(WANTED) == len(told["faults"])
    for fault, (line, field, found, wanted) in zip(told["faults"], WANTED, strict=True):
        assert (fault["path"], fault["line"], fault["field"]) == (str(eval_set), line, field)
        assert found in fault["found"]
        assert wanted in fault["wanted"]


def test_a_person_is_told_the_same(eval_set: Path) -> None:
    done = CliRunner().invoke(commands, ["check", str(eval_set)])
    assert done.exit_code == 65
    for line, field, found, _ in WANTED:
        assert any(
            text.startswith(f"error: {eval_set}:{line}: {field}: found ") and found in text
            for text in done.stdout.splitlines()
        )
    assert f"{len(WANTED)} errors" in done.stdout


def test_sound_rules_are_no_fault(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(json.dumps(CASES[0] | {"rules": [SOUND]}), encoding="utf-8")
    assert CliRunner().invoke(commands, ["check", str(path)]).exit_code == 0
