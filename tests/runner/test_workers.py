"""Workers are processes: their deaths, their ends and their refusals cost no record and blame no target."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest

from evalkit import runs
from evalkit.contracts import Case, EvalRecord, Manifest
from evalkit.errors import UsageError
from evalkit.net.exchange import ASKED_FOR
from evalkit.net.masking import KNOWN
from evalkit.records import load
from evalkit.registry import Spec
from evalkit.runner import Apart, Plan, run

SERVICE = """
import asyncio, os
from evalkit import Observation
from evalkit.contracts import Timings

async def ask(case):
    if case.query == "deadly":
        os.kill(os.getpid(), 9)
    if case.query == "deadly once" and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), 9)
    await asyncio.sleep(float(case.query) if case.query[0].isdigit() else 0.05)
    return Observation(response=f"{os.getpid()} 退\\ud83d", ttft_ms=1.0, answer_timings=Timings(end_ms=2.0))
"""

CHILD = """
import asyncio, sys
from evalkit.contracts import Case
from evalkit.registry import Spec
from evalkit.runner import Apart, Plan, run
cases = [Case(sample_id=str(n), query=sys.argv[1]) for n in range(40)]
plan = Plan(run_id="r", concurrency=8, target="t", grace_s=1)
manifest = asyncio.run(run(cases, Apart(Spec("service:ask"), 2), plan, on_record=lambda r: print("one", flush=True),
    on_start=lambda m: print("started", flush=True)))
sys.exit(130 if manifest.state == "interrupted" else 0)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a module `service` that workers can import, and the working directory."""
    (tmp_path / "service.py").write_text(SERVICE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def go(queries: list[str], *, workers: int = 2, **settings: Any) -> tuple[Manifest, list[EvalRecord]]:
    cases = [Case(sample_id=str(n), query=query) for n, query in enumerate(queries)]
    plan = Plan(run_id="r", target="t", **settings)
    manifest = asyncio.run(run(cases, Apart(Spec("service:ask"), workers), plan))
    return manifest, list(load(Path("runs/r.jsonl")))


def pids(rows: list[EvalRecord]) -> Counter[str]:
    return Counter((row.response or "").split()[0] for row in rows)


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_cases_are_shared_among_processes_and_written_by_one(place: Path) -> None:
    before = children()
    manifest, rows = go(["0.02"] * 40, concurrency=8, workers=3)
    assert (manifest.state, manifest.recorded, manifest.settings["workers"]) == ("complete", 40, 3)
    assert sorted(row.key for row in rows) == sorted(map(str, range(40)))
    found = pids(rows)
    assert len(found) == 3
    assert str(os.getpid()) not in found
    assert min(found.values()) >= 5
    assert children() <= before
    assert {path.name for path in (place / "runs").iterdir()} == {"r.jsonl", "r.meta.json"}


def test_a_record_from_a_worker_is_the_one_from_here_would_be(place: Path) -> None:
    _, (row,) = go(["0"])
    assert row.response
    assert row.response.endswith(" 退\ud83d")
    assert (row.run_id, row.evidence_status, row.ttft_ms) == ("r", "skipped", 1.0)
    assert row.started_at


def test_a_case_whose_worker_dies_is_asked_again_by_another(place: Path) -> None:
    manifest, rows = go(["deadly once"] + ["0.02"] * 20, concurrency=4)
    assert (place / "died").exists()
    assert {row.answer_status for row in rows} == {"ok"}
    assert (manifest.recorded, manifest.state) == (21, "complete")


def test_a_case_that_kills_every_worker_is_an_error_of_the_client(place: Path) -> None:
    manifest, rows = go(["deadly"] + ["0.02"] * 20, concurrency=1)
    (failed,) = [row for row in rows if row.answer_status != "ok"]
    assert failed.sample_id == "0"
    assert failed.answer_error
    assert (failed.answer_error.kind, failed.evidence_status) == ("client.worker_died", "skipped")
    assert (manifest.recorded, manifest.answer_ok) == (21, 20)


def working(process: psutil.Process) -> bool:
    alive = process.status() != psutil.STATUS_ZOMBIE
    return alive and "evalkit.runner.working" in process.cmdline()


def test_workers_killed_at_random_lose_and_double_nothing(place: Path) -> None:
    cases = [Case(sample_id=str(n), query="0.02") for n in range(60)]
    plan = Plan(run_id="r", concurrency=6, target="t")
    killed = 0

    async def main() -> Manifest:
        nonlocal killed

        def kill(_record: EvalRecord) -> None:
            nonlocal killed
            asked = [each for each in psutil.Process().children() if working(each)]
            if killed < 3 and asked:
                killed += 1
                asked[0].kill()

        return await run(cases, Apart(Spec("service:ask"), 2), plan, on_record=kill)

    manifest = asyncio.run(main())
    rows = list(load(Path("runs/r.jsonl")))
    assert killed == 3
    assert manifest.state == "complete"
    assert sorted(row.key for row in rows) == sorted(case.sample_id for case in cases)
    assert all(row.answer_status == "ok" or row.answer_error.kind == "client.worker_died" for row in rows)  # type: ignore[union-attr]


def test_a_target_that_cannot_be_opened_is_refused_before_anything_is_asked(place: Path) -> None:
    before = children()
    with pytest.raises(UsageError, match="service:nothing"):
        asyncio.run(run([Case(sample_id="1")], Apart(Spec("service:nothing"), 2), Plan(run_id="r")))
    assert not (place / "runs" / "r.jsonl").exists()
    assert children() <= before


def started(query: str) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, "-c", CHILD, query], stdout=subprocess.PIPE, text=True)
    assert child.stdout
    assert child.stdout.readline() == "started\n"
    return child


def gone(pid_set: set[int]) -> bool:
    """Whether all of them are, after a moment."""
    for _ in range(100):
        if not any(psutil.pid_exists(pid) for pid in pid_set):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("times", [1, 2])
def test_an_interrupt_is_the_parents_to_handle(place: Path, times: int) -> None:
    """Once: those in flight end; twice: at once. Either way the file holds, and no process is left."""
    with started("0.3" if times == 1 else "60") as child:
        time.sleep(0.2)
        family = {each.pid for each in psutil.Process(child.pid).children(recursive=True)}
        for _ in range(times):
            child.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert child.wait(timeout=20) == 130
    manifest = runs.manifest(Path("runs/r.jsonl"))
    assert manifest
    assert manifest.state == "interrupted"
    assert manifest.recorded == (8 if times == 1 else 0)
    assert family
    assert gone(family)


def test_workers_end_with_their_parent(place: Path) -> None:
    with started("0.1") as child:
        assert child.stdout
        assert child.stdout.readline() == "one\n"
        family = {each.pid for each in psutil.Process(child.pid).children(recursive=True)}
        child.kill()
    assert len(family) >= 4
    assert gone(family)
    on_file = len(list(load(Path("runs/r.jsonl"))))
    assert 0 < on_file < 40
    manifest, rows = go_on()
    assert (manifest.state, len(rows)) == ("complete", 40)


def go_on() -> tuple[Manifest, list[EvalRecord]]:
    cases = [Case(sample_id=str(n), query="0.1") for n in range(40)]
    plan = Plan(run_id="r", target="t", concurrency=8, resume=True)
    manifest = asyncio.run(run(cases, Apart(Spec("service:ask"), 2), plan))
    return manifest, list(load(Path("runs/r.jsonl")))


def test_a_rate_is_kept_and_the_schedule_stands_in_the_records(place: Path) -> None:
    _, rows = go(["0.02"] * 10, concurrency=10, rate=20)
    due = sorted(row.scheduled_at for row in rows if row.scheduled_at)
    assert [(moment - due[0]).total_seconds() for moment in due] == pytest.approx(
        [n / 20 for n in range(10)], abs=0.03
    )
    assert all(row.started_at >= row.scheduled_at for row in rows)  # type: ignore[operator]


def test_each_worker_is_warmed_and_nothing_of_it_is_kept(place: Path) -> None:
    """Every process is asked the first two cases once more; of the records each stands there once."""
    source = SERVICE.replace("async def ask(case):", "async def ask(case):\n    note(case)")
    note = "def note(case): open(f'asked-{os.getpid()}', 'a').write(case.sample_id + '\\n')\n"
    (place / "service.py").write_text(source.replace("async def", note + "\nasync def", 1), encoding="utf-8")
    manifest, rows = go(["0.02"] * 12, workers=3, concurrency=6, warmup=2)
    asked = [path.read_text().split() for path in place.glob("asked-*")]
    assert [each[:2] for each in asked] == [["0", "1"]] * 3
    assert sorted(key for each in asked for key in each[2:]) == sorted(row.key for row in rows)
    assert (manifest.recorded, manifest.settings["warmup"]) == (12, 2)


def test_a_worker_that_dies_while_it_is_warmed_is_replaced(place: Path) -> None:
    manifest, rows = go(["deadly once", "0.02", "0.02"], concurrency=2, warmup=1)
    assert (place / "died").exists()
    assert {row.answer_status for row in rows} == {"ok"}
    assert manifest.recorded == 3


def test_a_capture_is_not_shared_out(place: Path) -> None:
    with pytest.raises(UsageError, match="--capture: found 2 workers, wanted one process"):
        go(["0.02"], capture=True)
    assert not (place / "runs").exists()


def asked_of(
    loopback: Any, answer: Any, count: int, *, retries: int = 0, **settings: Any
) -> tuple[Manifest, list[EvalRecord]]:
    """A run of two workers behind HTTP, each answer written by `answer`."""

    async def main() -> Manifest:
        async with loopback(answer) as server:
            key = {"key": "file:key"}
            spec = Spec("openai", {"model": "m", "base_url": server.url, "retries": retries, **key})
            cases = [Case(sample_id=str(n), query="q") for n in range(count)]
            return await run(cases, Apart(spec, 2), Plan(run_id="r", target="openai", **settings))

    manifest = asyncio.run(main())
    return manifest, list(load(Path("runs/r.jsonl")))


def test_requests_of_workers_are_named_and_a_key_that_only_they_read_is_known_here_too(
    place: Path, loopback: Any
) -> None:
    key, marks = "canary-of-the-workers-77", list[str]()
    (place / "key").write_text(key, encoding="utf-8")

    async def answer(request: Any, peer: Any) -> None:
        marks.append(request.headers[ASKED_FOR.lower()])
        told = b'data: {"choices":[{"delta":{"content":"%s"}}]}\n\ndata: [DONE]\n\n' % key.encode()
        await peer.send(loopback.STREAM, loopback.piece(told), loopback.END)

    _, rows = asked_of(loopback, answer, 6)
    assert sorted(marks) == [f"r/{n}" for n in range(6)]
    assert {row.response for row in rows} == {"***"}
    assert all("secret_in_answer" in row.flags for row in rows)
    assert KNOWN.is_in(key.encode())
    assert not any(key in path.read_text("utf-8") for path in (place / "runs").iterdir())


def test_the_pace_heeds_what_workers_met(place: Path, loopback: Any) -> None:
    """Every request is refused: 4 in flight, then 2, then 1."""
    busy, met = 0, list[int]()
    (place / "key").write_text("k", encoding="utf-8")

    async def answer(_request: Any, peer: Any) -> None:
        nonlocal busy
        busy += 1
        met.append(busy)
        await asyncio.sleep(0.05)
        busy -= 1
        await peer.send(loopback.json({}, status=429))

    manifest, _ = asked_of(loopback, answer, 16, concurrency=16, adaptive=True)
    assert (manifest.recorded, manifest.answer_ok, len(met)) == (16, 0, 16)
    assert max(met) <= 4
    assert set(met[8:]) == {1}


def test_one_429_keeps_every_worker_out(place: Path, loopback: Any) -> None:
    """50 cases over two processes, 10 in flight; the tenth request is told to wait a second: none of either comes before."""
    seen, refused = list[float](), asyncio.Event()
    (place / "key").write_text("k", encoding="utf-8")

    async def answer(_request: Any, peer: Any) -> None:
        seen.append(time.monotonic())
        if len(seen) == 10:
            await peer.send(loopback.json({}, status=429, headers={"Retry-After": "1"}))
            refused.set()
            return
        await refused.wait()  # an answer before would let another case begin
        await asyncio.sleep(0.2)
        told = b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n'
        await peer.send(loopback.STREAM, loopback.piece(told), loopback.END)

    manifest, _ = asked_of(loopback, answer, 50, concurrency=10, retries=2)
    assert (manifest.recorded, manifest.answer_ok, len(seen)) == (50, 50, 51)
    assert seen[10] - seen[9] >= 1.0
