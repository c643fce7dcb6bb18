"""`fix`, `plan` and `history` as a person runs them: text, JSON, exit codes, and nothing of it a terminal escape."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evalkit import runs
from evalkit.cli import commands
from evalkit.contracts import EvalRecord, Manifest
from evalkit.errors import UnknownName, UsageError

HOSTILE = "\x1b]52;c;aGk=\x07[bold]\u202eS9[/]\r\n|`"
GIVEN = ["S3", "S1", "S1", "S1", "S1", HOSTILE, "S3", "S3", "S2", "S2"]
GOLD = ["S3"] * 8 + ["S2"] * 2


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two runs of ten questions; in the newer one S3 is taken for S1 four times and once for a hostile label."""
    monkeypatch.chdir(tmp_path)
    write(0, GOLD)
    write(1, GIVEN)
    return tmp_path


def write(number: int, given: list[str], **settings: str) -> None:
    Path("runs").mkdir(exist_ok=True)
    lines = [
        EvalRecord(
            sample_id=f"q{row}",
            query=f"问题{row} {HOSTILE}",
            intent_l1="S",
            intent_l2=gold,
            intent_pred=label,
            total_ms=900.0,
            difficulty=["easy", "hard"][row % 2],
        ).model_dump_json()
        for row, (gold, label) in enumerate(zip(GOLD, given, strict=True))
    ]
    files = runs.files(f"run-{number}", Path("runs"))
    files.records.write_text("\n".join(lines) + "\n", encoding="utf-8")
    manifest = Manifest(
        run_id=f"run-{number}",
        state="complete",
        eval_set="set.jsonl",
        eval_set_sha256="a" * 64,
        target="demo",
        evalkit_version="0.1.0",
        started_at=datetime(2026, 8, 1, tzinfo=UTC) + timedelta(days=number),
        planned=10,
        settings=settings,
    )
    runs.save(manifest, files.manifest)


def call(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments, env={"COLUMNS": "80"})


def told(*arguments: str) -> Any:
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.usefixtures("place")
def test_fix_names_the_fault_and_what_it_wins() -> None:
    result = call("fix", "run-1")
    assert result.exit_code == 0
    assert "1. S3 is taken for S1: 4/8 samples  +40.0 points (17.2–62.8)" in result.stdout
    assert "funnel: 5 failures of 10 samples" in result.stdout
    assert "S3 → S1" in result.stdout


@pytest.mark.usefixtures("place")
def test_fix_says_the_same_as_json() -> None:
    found = told("fix", "run-1")
    first = found["suggestions"][0]
    assert (first["kind"], first["subject"], first["n"], first["at_risk"]) == (
        "intent_taken_for",
        ["S3", "S1"],
        4,
        8,
    )
    assert first["gain"]["value"] == 0.4
    assert first["keys"] == ["q1", "q2", "q3", "q4"]
    assert found["directions"][0]["predicted"] == "S1"
    assert [row["label"] for branch in found["tree"]["branches"] for row in branch["leaves"]] == ["S3", "S2"]
    assert sum(stage["charged"] for stage in found["funnel"]["stages"]) == 5


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "arguments",
    [("fix", "run-1"), ("plan", "run-1"), ("history", "--by", "intent_l2")],
    ids=lambda each: each[0],
)
def test_hostile_texts_are_spelled_out_and_lines_fit(arguments: tuple[str, ...]) -> None:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    assert not {char for char in result.stdout if ord(char) < 32} - {"\n"}
    assert "\u202e" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "arguments",
    [("fix", "run-1"), ("worst", "run-1"), ("diff", "run-0", "run-1"), ("score", "run-1")],
    ids=lambda each: each[0],
)
def test_what_is_drawn_together_is_told(arguments: tuple[str, ...]) -> None:
    told = "cases that share difficulty are drawn and tested together"
    assert told in call(*arguments, "--cluster", "difficulty").stdout
    assert told not in call(*arguments).stdout


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "arguments",
    [
        ("fix", "run-1"),
        ("worst", "run-1"),
        ("show", "run-1", "q1"),
        ("plan", "run-1"),
        ("history", "--by", "intent_l2"),
        ("diff", "run-0", "run-1"),
        ("gate", "run-1", "--baseline", "run-0", "--regression", "intent_top1"),
        ("score", "run-1"),
        ("report", "run-1"),
        ("verify", "run-1"),
    ],
    ids=lambda each: each[0],
)
def test_no_line_ends_in_spaces_where_output_is_piped(arguments: tuple[str, ...]) -> None:
    lines = call(*arguments).stdout.splitlines()
    assert len(lines) > 2
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("metric", "error"), [("nonsense", UnknownName), ("total_ms", UsageError)])
def test_fix_refuses_a_metric_that_it_cannot_rank_by(metric: str, error: type[Exception]) -> None:
    assert isinstance(call("fix", "run-1", "--metric", metric).exception, error)


@pytest.mark.usefixtures("place")
def test_plan_of_a_run_and_of_an_eval_set() -> None:
    of_run = told("plan", "run-1", "--width", "0.3")
    assert {row["intent_l2"]: (row["cases"], row["right"]) for row in of_run["rows"]} == {
        "S3": (8, 3.0),
        "S2": (2, 2.0),
    }
    cases = [{"sample_id": str(n), "query": f"问题{n}", "intent_l2": "A"} for n in range(3)]
    Path("set.jsonl").write_text("\n".join(map(json.dumps, cases)), encoding="utf-8")
    (row,) = told("plan", "set.jsonl")["rows"]
    assert (row["cases"], row["right"]) == (3, None)


@pytest.mark.usefixtures("place")
def test_plan_knows_the_taxonomy_beside_the_eval_set() -> None:
    Path("set.jsonl").write_text('{"sample_id": "1", "query": "问", "intent_l2": "A"}\n', encoding="utf-8")
    Path("taxonomy.json").write_text('[{"intent_l1": "X", "intent_l2": "B"}]', encoding="utf-8")
    assert {row["intent_l2"] for row in told("plan", "set.jsonl")["rows"]} == {"A", "B"}


@pytest.mark.usefixtures("place")
def test_plan_of_a_run_knows_the_taxonomy_beside_its_eval_set() -> None:
    Path("taxonomy.json").write_text('[{"intent_l1": "X", "intent_l2": "B"}]', encoding="utf-8")
    assert {row["intent_l2"] for row in told("plan", "run-1")["rows"]} == {"S2", "S3", "B"}


@pytest.mark.usefixtures("place")
def test_plan_says_why_a_run_needs_other_numbers_than_its_eval_set() -> None:
    Path("set.jsonl").write_text('{"sample_id": "1", "query": "问", "intent_l2": "A"}\n', encoding="utf-8")
    of_run, of_set = (" ".join(call("plan", source).stdout.split()) for source in ("run-1", "set.jsonl"))
    assert "by what the run answered; the plan of an eval set alone takes each intent as right half" in of_run
    assert "without answers each intent is taken as right half the time" in of_set
    assert [told("plan", source)["measured"] for source in ("run-1", "set.jsonl")] == [True, False]


@pytest.mark.usefixtures("place")
def test_history_draws_a_line_and_tells_what_moved() -> None:
    result = call("history", "--by", "intent_l2")
    assert "2 runs, 2026-08-01 00:00 to 2026-08-02 00:00" in result.stdout
    assert "█▁" in result.stdout
    (track,) = told("history", "--metric", "intent_top1")
    (series,) = track["series"]
    assert [point["mean"] for point in series["points"]] == [1.0, 0.5]
    assert (series["steps"][0]["worse"], series["steps"][0]["p"], series["steps"][0]["p_holm"]) == (
        5,
        0.0625,
        None,
    )


@pytest.mark.usefixtures("place")
def test_history_shows_slices_that_were_asked_for_though_none_moved() -> None:
    write(1, GOLD)
    shown = call("history", "--metric", "intent_top1", "--by", "intent_l2", "--limit", "1").stdout
    assert "  S2 " in shown
    assert "and 1 more slice" in shown
    write(1, GIVEN)  # S3 fell, S2 did not
    assert "  S3 " in call("history", "--metric", "intent_top1", "--by", "intent_l2", "--limit", "1").stdout


@pytest.mark.usefixtures("place")
def test_history_is_of_runs_that_asked() -> None:
    before = told("history")
    write(2, GIVEN, replay_of="run-1")
    assert told("history") == before


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("arguments", [("--metric", "nonsense"), ("--by", "tags"), ("--by", "nonsense")])
def test_history_refuses_what_it_does_not_know(arguments: tuple[str, str]) -> None:
    assert isinstance(call("history", *arguments).exception, UnknownName)
