"""The scenario of the mission, word for word, from one JSON file to verdicts over the embedded shop."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import EvalRecord, Judgement, Question, Verdict
from evalkit.engines.rules import Models, judge_rules, with_verdicts
from evalkit.metrics.outcome import outcomes
from evalkit.records import Records

RUN = "repair"


@pytest.fixture(scope="module")
def scenario(shared: Path) -> dict[str, Any]:
    """The JSON of the second functional-completeness plan, section 6.3, as it stands in the document."""
    (document,) = (shared / "mission").glob("002_*.txt")
    # The document is a table with one cell a line.
    text = document.read_text(encoding="utf-8").replace("|", "")
    start = text.rindex("{", 0, text.index('"name": "预约维修服务'))
    found, _ = json.JSONDecoder().raw_decode(text[start:])
    return dict(found)


def evalkit(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    places = ("--runs-dir", str(folder / "runs"), "--reports-dir", str(folder / "reports"))
    command = [sys.executable, "-m", "evalkit", *words, *places]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


@pytest.fixture(scope="module")
def run(scenario: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of the scenario against the embedded shop."""
    folder = tmp_path_factory.mktemp("scenario")
    path = folder / "scenario.json"
    path.write_text(json.dumps(scenario, ensure_ascii=False, indent=2), encoding="utf-8")
    done = evalkit(folder, "eval", str(path), "--target", "demo", "--run-id", RUN)
    assert done.returncode == 0, done.stderr
    return folder


def verdicts(record: EvalRecord) -> dict[str, Verdict]:
    return {verdict.rule: verdict for verdict in record.verdicts}


def test_without_a_judge_what_needs_one_is_undecided_and_says_so(run: Path) -> None:
    """The shop reports phone and address under the names of the scenario: 2 of 5 slots, and its own label."""
    (record,) = with_verdicts(run / "runs" / f"{RUN}.jsonl")
    found = verdicts(record)
    assert found["intent_classification"].passed is None
    assert "needs a judge" in found["intent_classification"].reason
    assert found["llm_score"].passed is None
    assert found["llm_score"].reason == "needs judge, and there is none"
    assert found["task_completion"].score == 0.4
    assert found["task_completion"].passed is False
    assert [verdict.weight for verdict in record.verdicts] == [1.0, 2.0, 1.0]
    assert record.rules_passed is None
    assert record.rules_decided_by == "intent_classification, llm_score"
    (outcome,) = outcomes([record])
    assert (outcome.intent_passed, outcome.completion, outcome.success_level) == (None, 0.4, None)


def test_the_report_shows_the_outcome(run: Path) -> None:
    done = evalkit(run, "score", RUN, "--json")
    assert done.returncode == 0, done.stderr
    assert '"avg_completion"' in done.stdout


@pytest.mark.parametrize(
    ("gathered", "grade", "passed", "level"),
    [
        pytest.param(4, 9, True, "success", id="4 of 5, polite"),
        pytest.param(3, 7, True, "partial", id="3 of 5, at the grade"),
        pytest.param(2, 6, False, "failure", id="2 of 5"),
    ],
)
def test_with_a_judge_the_scenario_is_decided(
    run: Path, gathered: int, grade: float, *, passed: bool, level: str
) -> None:
    """Weights 1, 2, 1 and the threshold 0.7: (1 + 2 · n/5 + grade/10) / 4."""

    async def judge(question: Question) -> Judgement:
        slots = [name for name in question.items if name.startswith("slot:")]
        held = {name: place < gathered for place, name in enumerate(slots)}
        return Judgement(
            label="appointment_booking" if question.labels else None,
            detail={
                "items": {"partial": False, **held},
                "dimensions": dict.fromkeys(question.dimensions, grade),
            },
        )

    records = asyncio.run(judge_rules(run / "runs" / f"{RUN}.jsonl", Models(judge=judge)))
    (record,) = records
    assert all(verdict.passed is not None for verdict in record.verdicts)
    assert ((1 + 2 * gathered / 5 + grade / 10) / 4 >= 0.7) is passed
    assert record.rules_passed is passed
    assert outcomes(Records.of(records))[0].success_level == level


def test_a_rule_that_means_nothing_stops_before_the_first_question(
    scenario: dict[str, Any], tmp_path: Path
) -> None:
    broken = json.loads(json.dumps(scenario))
    broken["cases"][0]["eval_rules"][0]["type"] = "intent_clasification"
    path = tmp_path / "scenario.json"
    path.write_text(json.dumps(broken, ensure_ascii=False), encoding="utf-8")
    done = evalkit(tmp_path, "run", str(path), "--target", "demo")
    assert done.returncode == 2
    assert "case 'case-001'" in done.stderr
    assert "Did you mean 'intent_classification'" in done.stderr
    assert not list(tmp_path.glob("runs/*.jsonl"))
    checked = subprocess.run(
        [sys.executable, "-m", "evalkit", "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert checked.returncode == 65
    assert "Did you mean 'intent_classification'" in checked.stdout
