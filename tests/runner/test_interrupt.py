"""Ctrl-C loses nothing: the first stops starting and lets those in flight end, the second ends at once."""

from __future__ import annotations

import asyncio
import functools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evalkit import runs
from evalkit.contracts import Case, Manifest, Observation
from evalkit.records import load
from evalkit.runner import Plan, run

CHILD = """
import asyncio, json, sys, time
from pathlib import Path
from evalkit.contracts import Case, Observation
from evalkit.runner import Plan, run
folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
seconds = settings.pop("seconds")
async def ask(case):
    print("asked", flush=True)
    await asyncio.sleep(seconds)
    return Observation(response=case.query)
def plain(case):
    print("asked", flush=True)
    time.sleep(seconds)
    return Observation(response=case.query)
ask = plain if settings.pop("plain", False) else ask
plan = Plan(runs_dir=folder, run_id="r", target="t", **settings)
cases = [Case(sample_id=str(n), query="q") for n in range(50)]
manifest = asyncio.run(run(cases, ask, plan))
sys.exit(130 if manifest.state == "interrupted" else 0)
"""


def interrupted(
    folder: Path, numbers: list[signal.Signals], *, asked: int = 3, pause: float = 0.1, **settings: float
) -> tuple[int, float]:
    """Send the signals to a run that has asked so many samples; its exit code, and how long it then took."""
    words = [sys.executable, "-c", CHILD, str(folder), json.dumps({"concurrency": 3, **settings})]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout
            assert [child.stdout.readline() for _ in range(asked)] == ["asked\n"] * asked
            begin = time.monotonic()
            for number in numbers:
                child.send_signal(number)
                time.sleep(pause)
            return child.wait(timeout=20), time.monotonic() - begin
        finally:
            child.kill()


def found(folder: Path) -> Manifest:
    manifest = runs.manifest(folder / "r.jsonl")
    assert manifest
    return manifest


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_the_first_interrupt_lets_those_in_flight_end(tmp_path: Path, number: signal.Signals) -> None:
    code, took = interrupted(tmp_path, [number], seconds=1.0)
    assert code == 130
    assert took < 9
    assert sorted(record.key for record in load(tmp_path / "r.jsonl")) == ["0", "1", "2"]
    assert (found(tmp_path).state, found(tmp_path).recorded) == ("interrupted", 3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.jsonl", "r.meta.json"]


def test_the_second_interrupt_ends_at_once(tmp_path: Path) -> None:
    code, took = interrupted(tmp_path, [signal.SIGINT, signal.SIGINT], seconds=60)
    assert code == 130
    assert took < 9
    assert (tmp_path / "r.jsonl").read_bytes() == b""
    assert (found(tmp_path).state, found(tmp_path).recorded) == ("interrupted", 0)


def test_interrupts_without_end_leave_a_manifest_that_says_so(tmp_path: Path) -> None:
    """Whatever arrives while the run is put away: it is on file as interrupted, not as under way."""
    interrupted(tmp_path, [signal.SIGTERM] * 2 + [signal.SIGTERM] * 30, pause=0.002, seconds=60)
    assert found(tmp_path).state == "interrupted"


def test_a_plain_function_that_hangs_does_not_hold_the_process(tmp_path: Path) -> None:
    code, took = interrupted(tmp_path, [signal.SIGINT, signal.SIGINT], seconds=60, plain=True)
    assert code == 130
    assert took < 5
    assert found(tmp_path).state == "interrupted"


def test_the_grace_ends(tmp_path: Path) -> None:
    code, took = interrupted(tmp_path, [signal.SIGINT], seconds=60, grace_s=0.5)
    assert code == 130
    assert 0.4 < took < 9
    assert found(tmp_path).state == "interrupted"


def test_an_interrupt_does_not_wait_for_the_next_turn_of_a_slow_rate(tmp_path: Path) -> None:
    """The second sample is due after twenty seconds."""
    code, took = interrupted(tmp_path, [signal.SIGINT], asked=1, seconds=0.0, rate=0.05)
    assert code == 130
    assert took < 9
    assert found(tmp_path).recorded == 1


@pytest.mark.parametrize("wait", [0.0, 0.07, 0.2])
def test_an_interrupted_run_resumes_to_each_sample_once(tmp_path: Path, wait: float) -> None:
    """Interrupt this very process in mid-run, then go on."""
    cases = [Case(sample_id=str(n), query="q") for n in range(60)]

    async def ask(case: Case) -> Observation:
        await asyncio.sleep(0.01)
        return Observation(response="好")

    def plan(*, resume: bool) -> Plan:
        return Plan(runs_dir=tmp_path, run_id="r", concurrency=2, resume=resume)

    timer = threading.Timer(wait, os.kill, (os.getpid(), signal.SIGINT))
    start = functools.cache(timer.start)
    first = asyncio.run(run(cases, ask, plan(resume=False), on_record=lambda _: start()))
    timer.join()
    assert first.state == "interrupted"
    assert first.recorded < 60
    assert asyncio.run(run(cases, ask, plan(resume=True))).state == "complete"
    lines = (tmp_path / "r.jsonl").read_bytes().splitlines()
    assert sorted(json.loads(line)["sample_id"] for line in lines) == sorted(str(n) for n in range(60))


def test_handlers_are_put_back(tmp_path: Path) -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    async def ask(case: Case) -> Observation:
        return Observation(response="好")

    async def inside() -> None:
        mine = signal.getsignal(signal.SIGINT)
        await run([Case(sample_id="1")], ask, Plan(runs_dir=tmp_path))
        assert signal.getsignal(signal.SIGINT) == mine

    asyncio.run(inside())
    assert {number: signal.getsignal(number) for number in before} == before
