"""The shop in a process of its own, asked through the Ragent target."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import Case, Observation
from evalkit.errors import EvalkitError, UsageError
from evalkit.registry import Spec, bind
from evalkit.targets.demo import demo
from evalkit.targets.demo.target import child

ROOT = Path(__file__).parents[3]
QUICK: dict[str, Any] = {"chunk_ms": 0, "think_ms": 0}


def children() -> set[int]:
    """The demo servers that this process started and that still run."""
    found = set()
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            try:
                words = (place / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"evalkit.targets.demo" in words and f"--parent-pid={os.getpid()}".encode() in words:
                found.add(int(place.name))
    return found


def asked(*cases: Case, **options: Any) -> list[Observation]:
    async def main() -> list[Observation]:
        async with demo(**{**QUICK, **options}) as ask:
            return [await ask(case) for case in cases]

    return asyncio.run(main())


def test_a_case_is_answered_and_no_process_is_left() -> None:
    (seen,) = asked(Case(sample_id="1", query="耳机拆封后还能退吗"))
    assert (seen.answer_status, seen.evidence_status) == ("ok", "ok")
    assert seen.intent_pred == "S14_退换货咨询"
    assert seen.response is not None
    assert seen.response.startswith("根据《")
    assert seen.retrieved_doc_ids
    assert children() == set()


@pytest.mark.parametrize(
    "options",
    [{"retries": -1}, {"concurrency": 0}, {"chunk_chars": 0}, {"chunk_ms": -1}, {"think_ms": float("inf")}],
    ids=str,
)
def test_a_setting_that_cannot_be_is_a_usage_error(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(UsageError, match=f"{name}: found"):
        asked(**options)


def test_faults_of_the_environment_are_settled_when_it_is_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_DEMO_FAULTS", "reject=0.2,cut=0.1")
    bound = bind("target", Spec("demo", {"cut": 0.5}))
    assert {name: bound.keywords[name] for name in ("reject", "cut", "slow")} == {  # type: ignore[attr-defined]
        "reject": 0.2,
        "cut": 0.5,
        "slow": 1.0,
    }


def test_a_dialog_reports_slots_steps_and_tool_calls() -> None:
    case = Case(sample_id="1", messages=("我要退货，订单E2026082102，买错了，手机13800010004", "确认"))
    (seen,) = asked(case)
    assert seen.filled_slots == {"order_id": "E2026082102", "reason": "买错了", "phone": "13800010004"}
    assert seen.done_steps == ("identify_order", "check_eligibility", "confirm", "create_return")
    assert [call.name for call in seen.tool_calls or ()] == [
        "get_order",
        "check_return_eligibility",
        "create_return",
    ]
    assert (seen.tool_calls or ())[0].arguments == {"order_id": "E2026082102"}


def test_faults_reach_the_server() -> None:
    case = Case(sample_id="1", query="耳机拆封后还能退吗")
    (seen,) = asked(case, reject=1.0, fail_evidence=1.0, retries=0)
    assert (seen.answer_status, seen.evidence_status) == ("rejected", "error")
    assert children() == set()


def test_a_cut_answer_is_never_ok() -> None:
    (seen,) = asked(Case(sample_id="1", query="耳机拆封后还能退吗"), cut=1.0, cut_as="end", retries=0)
    assert seen.answer_status == "incomplete"


def test_no_process_is_left_when_the_block_raises() -> None:
    async def main() -> None:
        async with demo(**QUICK):
            running.update(children())
            raise LookupError

    running: set[int] = set()
    with pytest.raises(LookupError):
        asyncio.run(main())
    assert len(running) == 1
    assert children() == set()


def test_no_process_is_left_when_the_block_is_cancelled() -> None:
    async def main() -> None:
        async def body() -> None:
            async with demo(**QUICK):
                ready.set()
                await asyncio.sleep(60)

        ready = asyncio.Event()
        task = asyncio.create_task(body())
        await ready.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert children() == set()


def test_a_server_that_cannot_start_is_an_error() -> None:
    async def main() -> None:
        async with child("--fault=nonsense=1"):
            pass

    with pytest.raises(EvalkitError, match="exit code 2"):
        asyncio.run(main())
    assert children() == set()


def test_faults_are_checked_before_anything_starts() -> None:
    with pytest.raises(UsageError, match="wanted a share"):
        asked(cut=2.0)


def started(*options: str, **more: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "evalkit.targets.demo", "--port=0", *options]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **more)


def first_line(process: subprocess.Popen[bytes]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode()


def test_a_child_says_where_it_is_in_one_line_and_soon() -> None:
    begin = time.monotonic()
    with started(f"--parent-pid={os.getpid()}") as process:
        said = json.loads(first_line(process))
        took = time.monotonic() - begin
        process.communicate(timeout=10)
    assert set(said) == {"base_url", "username", "password"}
    assert said["base_url"].startswith("http://127.0.0.1:")
    assert process.returncode == 0
    assert took < 20  # about one second of work; the rest is for a busy machine


def test_a_child_ends_with_its_parent() -> None:
    """The parent dies without a word while somebody else holds the child's standard input open."""
    parent = (
        "import os, subprocess, sys;"
        "p = subprocess.Popen([sys.executable, '-m', 'evalkit.targets.demo', '--port=0', f'--parent-pid={os.getpid()}'],"
        " stdin=0, stdout=subprocess.PIPE);"
        "p.stdout.readline(); print(p.pid, flush=True); os._exit(0)"
    )
    read, write = os.pipe()
    done = subprocess.run(
        [sys.executable, "-c", parent], cwd=ROOT, stdin=read, capture_output=True, check=True
    )
    pid = int(done.stdout)
    deadline = time.monotonic() + 10
    while Path(f"/proc/{pid}/stat").exists() and _alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.close(read)
    os.close(write)
    assert not _alive(pid)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_in_order(number: signal.Signals) -> None:
    with started() as process:
        said = first_line(process)
        process.send_signal(number)
        assert process.stdout is not None
        rest = process.stdout.read().decode()
        process.wait(timeout=10)
    assert said.startswith("demo shop at http://127.0.0.1:")
    assert "user admin, password admin" in rest
    assert process.returncode == 0


def test_help_shows_an_example() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evalkit.targets.demo", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "example:" in done.stdout
