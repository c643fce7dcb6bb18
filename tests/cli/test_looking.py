"""`show` tells why a sample failed, and what each of its rules says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit.cli import commands
from evalkit.contracts import EvalRecord
from evalkit.errors import UnknownName

RULES = [
    {"type": "keyword_match", "params": {"keywords": ["退货", "七天"]}},
    {"type": "llm_score", "params": {"criteria": "礼貌"}},
]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of two answers to one rule: the first lacks a word, the second has all."""
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    records = [
        record("bad", "可以退货。", RULES, intent_l2="A", intent_pred="B"),
        record("good", "七天内可以退货。", RULES[:1]),
    ]
    lines = "".join(record.model_dump_json() + "\n" for record in records)
    Path("runs/r.jsonl").write_text(lines, encoding="utf-8")
    return tmp_path


def record(name: str, answer: str, rules: list[dict[str, Any]], **fields: Any) -> EvalRecord:
    told = {"sample_id": name, "query": "能退吗", "response": answer, "rules": rules}
    return EvalRecord.model_validate(told | fields)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, env={"COLUMNS": "200"})


@pytest.mark.usefixtures("place")
def test_why_it_failed_comes_first_then_the_rules() -> None:
    lines = [line.strip() for line in call("show", "r", "bad").stdout.splitlines() if line.strip()]
    assert lines[:2] == ["bad", "Why it failed"]
    assert lines[2].split(maxsplit=1) == ["intent", "intent B, expected A"]
    assert lines[3].split(maxsplit=1) == [
        "answer",
        'rule keyword_match failed: found: lacks 1 of 2: 七天; wanted: keywords ["退货", "七天"]',
    ]
    assert [line.split() for line in lines[4:8]] == [
        ["Outcome"],
        ["success", "undecided:", "failure", "whatever", "is", "unknown"],
        ["intent", "mistaken"],
        ["completion", "unknown"],
    ]
    rules, asked = lines.index("Rules"), lines.index("Asked")
    assert lines[rules + 1].split(maxsplit=2)[2] == "failed, by keyword_match"
    assert lines[rules + 2].split(maxsplit=1) == ["keyword_match", "failed · score 0.5 · lacks 1 of 2: 七天"]
    found = "".join(lines[rules + 3 : asked])
    assert '"missing": ["七天"]' in found.replace("\n", "")
    assert "undecided · needs judge, and there is none" in found


@pytest.mark.usefixtures("place")
def test_what_did_not_fail_has_no_reasons() -> None:
    text = call("show", "r", "good").stdout
    assert "Why it failed" not in text
    assert "passed · score 1 · says all that it must" in text


@pytest.mark.usefixtures("place")
def test_json_has_the_verdicts() -> None:
    told = json.loads(call("show", "r", "bad", "--json").stdout)
    assert (told["rules_passed"], told["rules_decided_by"]) == (False, "keyword_match")
    assert [verdict["passed"] for verdict in told["verdicts"]] == [False, None]


@pytest.mark.usefixtures("place")
def test_an_unknown_sample_is_named_beside_the_known() -> None:
    error = call("show", "r", "ugly").exception
    assert isinstance(error, UnknownName)
    assert "Known: good, bad" in str(error)
