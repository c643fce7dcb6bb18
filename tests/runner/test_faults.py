"""What networks and disks do to whole runs: each sample has its record, and each record says what happened."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from evalkit import runs, writing
from evalkit.contracts import Case, EvalRecord, Manifest
from evalkit.engines.scored import scored
from evalkit.errors import StorageError
from evalkit.metrics.latency import quantiles
from evalkit.reading import read
from evalkit.registry import Spec, bind
from evalkit.report.digest import Run, digest
from evalkit.report.summary import state
from evalkit.runner import Plan, run
from evalkit.runner.capturing import stored
from evalkit.targets.http.opening import target
from evalkit.targets.http.spec import TargetSpec

FRAME = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def asked(
    folder: Path, loopback: Any, answer: Any, *, count: int = 1, **settings: Any
) -> tuple[Manifest, Any]:
    """A run of the target `openai` against that answer; its manifest, and the server as it was left."""
    params = {"model": "m", "retries": settings.pop("retries", 0)}
    params |= {name: settings.pop(name) for name in ("total_deadline_s",) if name in settings}

    async def main() -> tuple[Manifest, Any]:
        async with loopback(answer) as server:
            bound = bind("target", Spec("openai", {**params, "base_url": server.url}))
            cases = [Case(sample_id=f"c{n:03}", query="q") for n in range(count)]
            plan = Plan(runs_dir=folder, run_id="r", target="openai", **settings)
            return await run(cases, bound, plan), server

    return asyncio.run(main())


def on_file(folder: Path) -> list[EvalRecord]:
    reading = read(folder / "r.jsonl", EvalRecord)
    assert not reading.faults
    return reading.items


def test_a_stall_is_in_the_latency_from_the_schedule_and_not_in_the_one_from_sending(
    tmp_path: Path, loopback: Any
) -> None:
    """M4: 20 a second, one at a time; one of 120 answers stalls, and those behind it are sent late.

    p99 of 120 is the second largest: from the moment of sending that is one of the quick answers, from the
    schedule the first of those that waited. How long the stall was is as the server saw it.
    """
    stalls: list[float] = []
    count = 0

    async def answer(_request: Any, peer: Any) -> None:
        nonlocal count
        count += 1
        if count == 20:
            begin = time.monotonic()
            await asyncio.sleep(0.6)
            stalls.append((time.monotonic() - begin) * 1000)
        await peer.send(loopback.STREAM, loopback.piece(FRAME), loopback.END)

    asked(tmp_path, loopback, answer, count=120, concurrency=1, rate=20)
    rows = {row.name: row for row in quantiles(on_file(tmp_path))}
    sent, due = rows["total_ms"], rows["total_from_schedule_ms"]
    assert (sent.n_counted, due.n_counted) == (120, 120)
    assert sent.p99
    assert due.p99
    assert due.p99 >= stalls[0] - 1000 / 20 - 2  # the case after it was due 50 ms later; 2 ms of timers
    assert due.p99 > 2 * sent.p99


def test_a_429_with_retry_after_keeps_every_worker_out_for_so_long(tmp_path: Path, loopback: Any) -> None:
    """R7: 30 at once, one refusal for 1 s: nobody asks in that second, and nobody asks more than twice."""
    arrivals: list[float] = []
    shut: list[float] = []

    async def answer(_request: Any, peer: Any) -> None:
        now = time.monotonic()
        arrivals.append(now)
        if not shut:
            await asyncio.sleep(0.4)  # all workers are in by then
        if not shut or now < shut[0]:
            shut.append(time.monotonic())
            return await peer.send(loopback.json({}, status=429, headers={"Retry-After": "1"}))
        return await peer.send(loopback.STREAM, loopback.piece(FRAME), loopback.END)

    manifest, _ = asked(tmp_path, loopback, answer, count=30, concurrency=30, retries=2)
    assert manifest.answer_ok == 30
    begin = max(shut)
    assert not [at for at in arrivals if begin + 0.05 < at < min(shut) + 0.95]
    assert len(arrivals) <= 60


def test_nobody_reconnects(tmp_path: Path, loopback: Any) -> None:
    """R12, R13: a stream that says `retry:` and ends early is one request, one truncated answer, its tail kept."""

    async def answer(_request: Any, peer: Any) -> None:
        stream = b'retry: 1\nid: 7\ndata: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: {"cho'
        await peer.send(loopback.STREAM, loopback.piece(stream), loopback.END)

    _, server = asked(tmp_path, loopback, answer, retries=3)
    assert len(server.requests) == 1
    (record,) = on_file(tmp_path)
    assert (record.answer_status, record.response) == ("incomplete", "x")
    assert record.answer_error
    assert record.answer_error.body == 'data: {"cho'


def test_more_at_once_than_a_pool_would_hold(tmp_path: Path, loopback: Any) -> None:
    """R4: 100 at once, 400 cases: not one error is the client's."""

    async def answer(_request: Any, peer: Any) -> None:
        await asyncio.sleep(0.02)
        await peer.send(loopback.STREAM, loopback.piece(FRAME), loopback.END)

    manifest, _ = asked(tmp_path, loopback, answer, count=400, concurrency=100)
    assert manifest.answer_ok == manifest.recorded == 400


def test_a_redirect_reaches_nobody_with_the_key(tmp_path: Path, loopback: Any) -> None:
    """R17, K5: the other host hears nothing."""

    async def elsewhere(_request: Any, peer: Any) -> None:
        await peer.send(loopback.json({}))

    async def main() -> int:
        async with loopback(elsewhere) as other:

            async def answer(_request: Any, peer: Any) -> None:
                await peer.send(loopback.body(b"", status=307, headers={"Location": other.url}))

            async with loopback(answer) as server:
                bound = bind("target", Spec("openai", {"model": "m", "base_url": server.url}))
                await run([Case(sample_id="1", query="q")], bound, Plan(runs_dir=tmp_path, run_id="r"))
            return len(other.requests)

    assert asyncio.run(main()) == 0
    (record,) = on_file(tmp_path)
    assert record.answer_error
    assert record.answer_error.kind == "redirect"


def test_one_channel_that_fails_leaves_the_other(tmp_path: Path, loopback: Any) -> None:
    """R19: the evidence of 3 of 20 fails: 20 answers are counted, 17 retrievals."""
    spec = {
        "parameters": {"base_url": {"about": "where"}},
        "answer": {"url": "{base_url}/a", "body": {"q": "{query}"}, "events": [{"text": "t", "end": True}]},
        "evidence": {
            "method": "GET",
            "url": "{base_url}/e",
            "query": {"q": "{query}"},
            "documents": {"each": "d", "id": "@"},
        },
    }

    async def answer(request: Any, peer: Any) -> None:
        if request.path == "/a":
            await peer.send(loopback.STREAM, loopback.piece(b'data: {"t":"x"}\n\n'), loopback.END)
        elif request.query["q"] in ("q3", "q7", "q11"):
            await peer.send(loopback.json({}, status=500))
        else:
            await peer.send(loopback.json({"d": ["D1"]}))

    async def main() -> None:
        own = target("own", TargetSpec.model_validate(spec))
        async with loopback(answer) as server:
            cases = [
                Case(sample_id=f"c{n}", query=f"q{n}", requires_rag=True, reference_doc_ids=("D1",))
                for n in range(20)
            ]
            plan = Plan(runs_dir=tmp_path, run_id="r")
            await run(cases, lambda: own(base_url=server.url, retries=0), plan)

    asyncio.run(main())
    results = scored(tmp_path / "r.jsonl").results
    counted = {result.name: result.overall.n_counted for result in results if result.overall is not None}
    assert (counted["answer_error_rate"], counted["recall@5"], counted["evidence_error_rate"]) == (20, 17, 20)


def test_cancel_storms_leave_the_run_that_follows_alone(tmp_path: Path, loopback: Any) -> None:
    """R1, R2: a hundred deadlines inside streams, then samples that are all answered over the same client."""
    count = 0

    async def answer(_request: Any, peer: Any) -> None:
        nonlocal count
        count += 1
        await peer.send(loopback.STREAM)
        if count <= 100:
            for _ in range(100):
                await peer.send(loopback.piece(b": p\n\n"))
                await asyncio.sleep(0.02)
        await peer.send(loopback.piece(FRAME), loopback.END)

    manifest, _ = asked(tmp_path, loopback, answer, count=130, concurrency=20, total_deadline_s=1)
    records = on_file(tmp_path)
    kinds = [record.answer_error.kind for record in records if record.answer_error]
    assert set(kinds) == {"deadline.total"}
    assert len(kinds) >= 100
    assert manifest.answer_ok == 130 - len(kinds) > 10


def test_resets_at_any_byte_are_told_and_keep_what_had_come(tmp_path: Path, loopback: Any) -> None:
    """R15: the connection breaks after each number of bytes of a response."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    whole = head + FRAME
    turn = -1

    async def answer(_request: Any, peer: Any) -> None:
        nonlocal turn
        turn += 1
        await peer.send(whole[:turn])
        await asyncio.sleep(0.005)
        peer.reset()

    manifest, _ = asked(tmp_path, loopback, answer, count=len(whole) + 1, concurrency=1)
    records = on_file(tmp_path)
    assert len(records) == len(whole) + 1
    kinds = [record.answer_error.kind if record.answer_error else "ok" for record in records]
    text_at = len(head) + FRAME.index(b"\n\n") + 2
    assert set(kinds[: len(head)]) == {"disconnected"}
    assert set(kinds[len(head) : -1]) <= {
        "incomplete_read",
        "incomplete",
    }  # a body that ends with its connection
    assert {record.response for record in records[text_at:]} == {"x"}
    assert manifest.answer_ok <= 1


# ---- disks


def test_a_disk_that_is_full_for_the_capture_acknowledges_nothing_more(tmp_path: Path, loopback: Any) -> None:
    """F6: no record without its bytes, and what was there before can be read."""

    async def answer(_request: Any, peer: Any) -> None:
        noise = json.dumps({"noise": os.urandom(900).hex()})
        await peer.send(loopback.STREAM, loopback.piece(f"data: {noise}\n\n".encode() + FRAME), loopback.END)

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, hard))
    try:
        with pytest.raises(StorageError):
            asked(tmp_path, loopback, answer, count=60, capture=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    entries, lost = stored(tmp_path / "r.capture")
    assert 0 < len(on_file(tmp_path)) <= len([entry for entry in entries if entry.case])
    assert lost == 0


def test_a_derived_file_is_the_old_one_or_the_new_one_whenever_its_writer_dies(tmp_path: Path) -> None:
    """F9: SIGKILL at 200 moments inside the writing."""
    path, dice = tmp_path / "report.html", random.Random(7)  # noqa: S311
    versions = {bytes([letter]) * 400_000 for letter in b"ab"}
    writing.replace(path, b"a" * 400_000)
    for turn in range(200):
        child = os.fork()
        if child == 0:
            try:
                while True:
                    writing.replace(path, b"ab"[turn % 2 : turn % 2 + 1] * 400_000)
            finally:
                os._exit(1)
        time.sleep(dice.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert path.read_bytes() in versions
    writing.replace(path, b"a" * 400_000)
    assert [each.name for each in tmp_path.iterdir()] == ["report.html"]


def test_a_run_that_is_written_can_be_reported_on(tmp_path: Path, loopback: Any) -> None:
    """F11: a torn last line is left out, and the report says in progress."""

    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, loopback.piece(FRAME), loopback.END)

    asked(tmp_path, loopback, answer, count=4)
    path = tmp_path / "r.jsonl"
    manifest = runs.manifest(path)
    assert manifest
    runs.save(manifest.model_copy(update={"state": "running", "finished_at": None}), tmp_path / "r.meta.json")
    path.write_bytes(path.read_bytes()[:-100])
    found = digest(Run(*scored(path)))
    assert len(found.run.records) == 3
    assert state(found.run, len(found.run.records)) == "in progress, 3 of 4"
