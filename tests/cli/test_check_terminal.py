"""`evalkit check` on a terminal: nothing from the eval set is obeyed, and what is wrong stays in sight."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit.cli import commands
from evalkit.cli.checking import check
from evalkit.cli.demo import demo
from evalkit.cli.looking import worst


def eval_set(folder: Path, *cases: dict[str, object]) -> Path:
    path = folder / "cases.jsonl"
    lines = [json.dumps({"sample_id": f"q{n}", **case}, ensure_ascii=False) for n, case in enumerate(cases)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def shown(path: Path, *words: str) -> str:
    return CliRunner().invoke(check, [str(path), *words]).output


@pytest.mark.parametrize("field", ["intent_l1", "intent_l2", "difficulty", "trap_type"])
def test_no_label_is_obeyed_by_the_terminal(tmp_path: Path, field: str) -> None:
    told = shown(eval_set(tmp_path, {"query": "能退吗", field: "\x1b[2J\x9b31m红\u202e\n假"}))
    assert "\\x1b[2J\\x9b31m红\\u202e 假" in told
    assert not {"\x1b", "\x9b", "\u202e"} & set(told)


def test_labels_stand_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    huge = "S" + "9" * 5_000
    cases = [{"query": f"问{n}", "intent_l2": label} for n, label in enumerate(["S10", "S2", "S1", "S02"])]
    told = shown(eval_set(tmp_path, *cases))
    rows = [words[1] for line in told.splitlines() if (words := line.split())[:1] == ["intent_l2"]]
    assert rows == ["S1", "S02", "S2", "S10"]
    assert huge[:20] in shown(eval_set(tmp_path, {"query": "问", "intent_l2": huge}))


def test_errors_and_the_count_stand_below_the_summary(tmp_path: Path) -> None:
    path = eval_set(tmp_path, {"query": "能退吗", "intent_l2": "S1"}, {"query": 3})
    lines = shown(path).splitlines()
    places = [next(n for n, line in enumerate(lines) if part in line) for part in ("dimension", "error: ")]
    assert places == sorted(places)
    assert lines[-1] == f"{path}: 1 error, 1 warning"


def test_rare_labels_are_one_warning(tmp_path: Path) -> None:
    cases = [{"query": f"第{n}问", "intent_l2": f"S{n % 12}"} for n in range(13)]
    warnings = [line for line in shown(eval_set(tmp_path, *cases)).splitlines() if "at least 5 cases" in line]
    assert len(warnings) == 1
    assert "12 labels with fewer: 'S0' 2, 'S1' 1, 'S2' 1," in warnings[0]
    assert warnings[0].index("'S9'") < warnings[0].index("'S10'")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param(check, ["x.jsonl", "--limit", "0"], id="check none"),
        pytest.param(check, ["x.jsonl", "--limit", "-1"], id="check negative"),
        pytest.param(worst, ["latest", "--limit", "0"], id="worst none"),
        pytest.param(worst, ["latest", "--limit", "-1"], id="worst negative"),
        pytest.param(demo, ["--port", "99999"], id="port too high"),
        pytest.param(demo, ["--port", "-1"], id="port negative"),
        *(
            pytest.param(demo, [option, value], id=f"{option} {value}")
            for option in ("--think-ms", "--chunk-ms")
            for value in ("inf", "nan", "-1")
        ),
    ],
)
def test_a_number_out_of_range_is_a_usage_error(command: object, words: list[str]) -> None:
    done = CliRunner().invoke(command, words)  # type: ignore[arg-type]
    assert done.exit_code == 2
    assert "Invalid value" in done.output


@pytest.mark.parametrize("encoding", ["latin1", "ascii", "utf-8"])
def test_any_console_is_told(tmp_path: Path, encoding: str) -> None:
    path = eval_set(tmp_path, {"query": "能退吗", "intent_l2": "S14_退换货咨询"}, {"query": 3})
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", "check", str(path)],
        env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 65
    assert b"Traceback" not in done.stderr
    said = done.stdout.decode("utf-8" if encoding == "ascii" else encoding)  # click takes ascii for a mistake
    assert ("S14_退" if encoding == "utf-8" else "S14_\\u9000") in said


def test_an_eval_set_from_a_pipe_is_refused(tmp_path: Path) -> None:
    """It would be read once for its cases and once, empty by then, for its hash."""
    fifo = tmp_path / "cases.jsonl"
    os.mkfifo(fifo)
    for words in (["check", str(fifo)], ["run", str(fifo), "--target", "demo"]):
        done = CliRunner().invoke(commands, words)
        assert "wanted a regular file" in str(done.exception)
        assert getattr(done.exception, "exit_code", None) == 66
