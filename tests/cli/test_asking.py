"""`evalkit run` and `evalkit eval` as processes: what they end with, and what is on file then."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli.asking import _crew
from evalkit.cli.settings import settled
from evalkit.errors import UsageError
from evalkit.registry import Spec, bind
from evalkit.runner import Apart, Plan

ROOT = Path(__file__).parents[2]
CASES = "".join(
    json.dumps({"sample_id": f"c{n}", "query": f"第{n}个问题"}, ensure_ascii=False) + "\n" for n in range(3)
)
BOTS = """
import sys, time
from contextlib import asynccontextmanager
from evalkit import Observation

async def fine(case, /): return Observation(response="好")
def leaving(case, /): sys.exit(0)
async def escaping(case, /): raise RuntimeError("\\x1b[31mred")
async def mixed(case, /):
    if case.sample_id == "c0": sys.exit(0)
    return Observation(response="好")
def one_raises(case, /):
    if case.sample_id == "c500": raise ValueError("of the plugin")
    return Observation(response="好")
async def told(case, /):
    return Observation(response="好", **({"STATUS": "VALUE"} if case.sample_id == "c0" else {}))
def hanging(case, /):
    print("asked", flush=True)
    time.sleep(60)
@asynccontextmanager
async def closed(*, mode: str = "a", where: tuple = ("x",)):
    if mode == "b": sys.exit(0)
    yield fine
@asynccontextmanager
async def hostile():
    from evalkit.errors import UsageError
    raise UsageError("login: \\x1b]0;owned\\x07")
    yield
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with three cases and a module of targets."""
    (tmp_path / "cases.jsonl").write_text(CASES, encoding="utf-8")
    (tmp_path / "bots.py").write_text(BOTS, encoding="utf-8")
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)", encoding="utf-8")
    return tmp_path


def begun(place: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAGENT_")}
    return subprocess.Popen(
        [sys.executable, "-m", "evalkit", words[0], "cases.jsonl", *words[1:]],
        cwd=place,
        env=clean | {"PYTHONPATH": str(ROOT), "COLUMNS": "200"} | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(place: Path, *words: str, **variables: str) -> tuple[int, str]:
    """What the command ends with, and what it says on standard error."""
    with begun(place, *words, **variables) as child:
        _, said = child.communicate(timeout=60)
    assert "Traceback" not in said
    return child.returncode, said


def on_file(place: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    lines = (place / "runs" / "r.jsonl").read_text(encoding="utf-8").splitlines()
    manifest = (place / "runs" / "r.meta.json").read_text(encoding="utf-8")
    return [json.loads(line) for line in lines], json.loads(manifest)


@pytest.mark.parametrize("command", ["run", "eval"])
def test_a_target_that_ends_the_process_fails_its_samples_alone(command: str, place: Path) -> None:
    code, said = ended(place, command, "--target", "bots:leaving", "--run-id", "r")
    assert (code, "all 3 answers failed; the first: target_error: SystemExit: 0" in said) == (3, True)
    records, manifest = on_file(place)
    assert [record["answer_status"] for record in records] == ["error"] * 3
    assert {record["evidence_status"] for record in records} == {"skipped"}
    assert manifest["state"] == "complete"
    assert (place / "reports" / "r" / "report.html").exists() == (command == "eval")


def test_some_failed_answers_are_no_failure_of_the_run(place: Path) -> None:
    assert ended(place, "run", "--target", "bots:mixed", "--run-id", "r") == (0, "")
    records, _ = on_file(place)
    assert sorted(record["answer_status"] for record in records) == ["error", "ok", "ok"]


@pytest.mark.parametrize("command", ["run", "eval"])
def test_one_exception_in_a_thousand_is_one_error_and_the_share_allowed_decides(
    command: str, place: Path
) -> None:
    """R21: the run is whole, the report is written, and the exit code is as asked for."""
    lines = [json.dumps({"sample_id": f"c{n}", "query": "q"}) + "\n" for n in range(1000)]
    (place / "cases.jsonl").write_text("".join(lines), encoding="utf-8")
    asked = (command, "--target", "bots:one_raises", "--run-id", "r")
    assert ended(place, *asked)[0] == 0
    records, manifest = on_file(place)
    assert sorted(record["answer_status"] for record in records) == ["error"] + ["ok"] * 999
    assert (manifest["state"], manifest["recorded"], manifest["answer_ok"]) == ("complete", 1000, 999)
    assert ended(place, *asked, "--resume", "--max-error-rate", "0.001")[0] == 0
    shutil.rmtree(place / "reports", ignore_errors=True)
    code, said = ended(place, *asked, "--resume", "--max-error-rate", "0")
    assert (code, "found a channel error in 1 of 1000 records" in said) == (3, True)
    assert (place / "reports" / "r" / "report.html").exists() == (command == "eval")
    assert len(on_file(place)[0]) == 1000


@pytest.mark.parametrize(
    ("channel", "status", "counts"),
    [
        ("answer", "error", True),
        ("answer", "incomplete", True),
        ("answer", "rejected", False),
        ("answer", "cancelled", False),
        ("evidence", "error", True),
        ("evidence", "skipped", False),
    ],
)
def test_what_counts_as_a_channel_error(channel: str, status: str, *, counts: bool, place: Path) -> None:
    bots = BOTS.replace("STATUS", f"{channel}_status").replace("VALUE", status)
    (place / "bots.py").write_text(bots, encoding="utf-8")
    code, _ = ended(place, "run", "--target", "bots:told", "--max-error-rate", "0.3")
    assert code == (3 if counts else 0)


@pytest.mark.parametrize(
    "words",
    [
        ("judge", "r.jsonl", "--judge", "j", "--max-cost", "nan"),
        ("certify", "r.jsonl", "--labels", "r.jsonl", "--metric", "m", "--pass-at", "nan"),
        ("calibrate", "--seconds", "nan"),
        ("demo", "--think-ms", "nan"),
    ],
    ids=lambda words: str(words[0]),
)
def test_no_option_takes_nan_for_a_number(words: tuple[str, ...], place: Path) -> None:
    """It is in every range: a cost of at most that would be any."""
    (place / "r.jsonl").write_text("{}\n")
    code, said = ended(place, *words)
    assert (code, f"'{words[-2]}': found nan" in said) == (2, True)


@pytest.mark.parametrize("share", ["nan", "-0.1", "1.01", "x"])
def test_a_share_that_is_none_is_a_usage_error(share: str, place: Path) -> None:
    code, said = ended(place, "run", "--target", "bots:fine", "--max-error-rate", share)
    assert (code, "--max-error-rate" in said) == (2, True)
    assert not (place / "runs").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--target", "bots:closed", "--set", "mode=b"), "opening it raised SystemExit"),
        (("--target", "leaves:it"), "cannot be imported (SystemExit"),
        (("--target", "my_bot"), "module:function"),
        (("--target", "bots:fine", "--resume"), "--resume needs --run-id NAME"),
        (("--target", "demo", "--set", "evidence=no"), "evidence: found 'no', wanted true or false"),
        (("--target", "demo", "--set", 'concurrency="x"'), "concurrency: found 'x', wanted a whole number"),
        (("--target", "openai", "--set", "model=m", "--set", "retries=-1"), "retries: found -1"),
        (("--target", "ragent", "--set", "base_url=http://u:canary@h"), "a login in the address"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(words: tuple[str, ...], told: str, place: Path) -> None:
    code, said = ended(place, "run", *words, OPENAI_API_KEY="k")
    assert (code, told in said, "canary" in said) == (2, True, False), said
    assert not list(place.glob("runs/*.jsonl"))


@pytest.mark.parametrize("value", ["http://[::1", "http://h:99999", "h", "http://u:p@h"])
def test_an_address_in_the_environment_that_is_none_is_a_usage_error(value: str, place: Path) -> None:
    code, said = ended(place, "run", "--target", "ragent", RAGENT_BASE_URL=value)
    assert (code, "RAGENT_BASE_URL" in said) == (2, True)


def test_no_escape_of_a_target_reaches_the_terminal(place: Path) -> None:
    _, said = ended(place, "run", "--target", "bots:escaping")
    assert ("\x1b" in said, "\\x1b[31mred" in said) == (False, True)
    _, said = ended(place, "run", "--target", "bots:hostile")
    assert ("\x1b" in said, "\\x1b]0;owned\\x07" in said) == (False, True)


def test_another_configuration_is_not_resumed(place: Path) -> None:
    asked = ("run", "--target", "bots:closed", "--run-id", "r")
    assert ended(place, *asked) == (0, "")
    assert on_file(place)[1]["target_config"] == {"mode": "a", "where": ["x"]}
    code, said = ended(place, *asked, "--resume", "--set", "mode=c")
    assert (code, "target_config.mode: found 'c', wanted 'a'" in said) == (2, True)
    assert ended(place, *asked, "--resume") == (0, "")


def test_the_manifest_has_what_the_environment_decided(place: Path) -> None:
    asked = ("run", "--target", "demo", "--run-id", "r", "--limit", "1")
    code, _ = ended(place, *asked, EVALKIT_DEMO_FAULTS="over_retrieve=0.25")
    assert (code, on_file(place)[1]["target_config"]["over_retrieve"]) == (0, 0.25)
    code, said = ended(place, *asked, "--resume")
    assert (code, "target_config.over_retrieve: found 0.0, wanted 0.25" in said) == (2, True)


def test_the_address_is_told_as_it_will_be_asked_and_nobody_who_logs_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RAGENT_BASE_URL", "http://shop:1/api")
    given = {"username": "canary", "password": "canary"}
    config = settled(bind("target", Spec("ragent", given)))
    assert config["base_url"] == "http://shop:1/api"
    assert "canary" not in str(config)
    monkeypatch.delenv("RAGENT_BASE_URL")
    assert settled(bind("target", Spec("ragent")))["base_url"] == "http://localhost:9090/api/ragent"


def test_a_login_in_an_address_of_an_own_target_is_not_told() -> None:
    def own(*, where: str = "https://me:canary@host/x") -> None: ...

    assert settled(own) == {"where": "https://***@host/x"}


def test_a_function_that_hangs_ends_with_the_second_interrupt(place: Path) -> None:
    with begun(place, "run", "--target", "bots:hanging", "--run-id", "r") as child:
        try:
            assert child.stdout
            assert child.stdout.readline() == "asked\n"
            begin = time.monotonic()
            for _ in range(2):
                child.send_signal(signal.SIGINT)
                time.sleep(0.2)
            assert child.wait(timeout=20) == 130
            assert time.monotonic() - begin < 10
        finally:
            child.kill()
    assert on_file(place)[1]["state"] == "interrupted"


def test_a_target_that_lives_in_one_process_is_not_shared_out(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"--workers: found 2, wanted 1: the target demo lives in one process"
    ):
        _crew(bind("target", Spec("demo"), concurrency=2), Spec("demo"), 2, Plan(concurrency=2))


@pytest.mark.parametrize(
    ("workers", "plan", "wanted"),
    [
        (None, {"concurrency": 8}, 1),
        (None, {"concurrency": 256}, 1),
        (None, {"concurrency": 64, "adaptive": True}, 1),
        (None, {"concurrency": 100_000, "capture": True}, 1),
        (1, {"concurrency": 900}, 1),
        (3, {"concurrency": 8}, 3),
        (3, {"concurrency": 2}, 2),
    ],
)
def test_workers_are_as_many_as_asked_for_or_needed(
    workers: int | None, plan: dict[str, Any], wanted: int
) -> None:
    spec = Spec("openai", {"model": "m"})
    crew = _crew(bind("target", spec), spec, workers, Plan(**plan))
    assert (crew.workers if isinstance(crew, Apart) else 1) == wanted
