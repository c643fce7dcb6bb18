"""A captured run can be made again from its bytes alone: the same records, whatever the network did."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit import runs
from evalkit.contracts import Case, EvalRecord, Manifest, Observation
from evalkit.errors import NoInput, UsageError
from evalkit.reading import read
from evalkit.registry import Spec, bind
from evalkit.runner import Plan, run
from evalkit.runner.capturing import stored
from evalkit.runner.replaying import Replayed, replay
from evalkit.targets.http.opening import target
from evalkit.targets.http.spec import TargetSpec

ROOT = Path(__file__).parents[2]
KEY = "canary-key-90210-白"
CHATTY = Case(sample_id="d1", messages=("我要退耳机", "已经拆封了"))


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY[:-1])


def chunk(text: str | None, **more: Any) -> str:
    return "data: " + json.dumps({"id": "r1", "choices": [{"delta": {"content": text}, **more}]}) + "\n\n"


class Script:
    """A server that answers by the question of each request, given the number of times it was asked it."""

    def __init__(self, loopback: Any) -> None:
        self.loopback = loopback
        self.asked: dict[str, int] = {}

    async def __call__(self, request: Any, peer: Any) -> None:
        question = json.loads(request.body)["messages"][-1]["content"]
        turn = self.asked[question] = self.asked.get(question, 0) + 1
        await getattr(self, question.partition(" ")[0], self.fine)(peer, turn)

    async def frames(self, peer: Any, *frames: str | bytes, end: bool = True) -> None:
        await peer.send(self.loopback.STREAM)
        for frame in frames:
            await peer.send(self.loopback.piece(frame if isinstance(frame, bytes) else frame.encode()))
            await asyncio.sleep(0.003)
        if end:
            await peer.send(self.loopback.END)

    async def fine(self, peer: Any, _turn: int) -> None:
        await self.frames(
            peer, ": ping\n\n", chunk("", role="x"), chunk("可"), chunk("以。"), "data: [DONE]\n\n"
        )

    async def reset(self, peer: Any, turn: int) -> None:
        await self.frames(peer, chunk("可"), end=False)
        await (self.fine(peer, turn) if turn > 9 else asyncio.sleep(0))
        peer.reset()

    async def flaky(self, peer: Any, turn: int) -> None:
        if turn == 1:
            await peer.send(self.loopback.json({"error": "busy"}, status=503))
        else:
            await self.fine(peer, turn)

    async def limited(self, peer: Any, _turn: int) -> None:
        await peer.send(self.loopback.json({}, status=429, headers={"Retry-After": "9999"}))

    async def drips(self, peer: Any, _turn: int) -> None:
        await self.frames(peer, chunk("滴"), *[": ping\n\n"] * 60, end=False)
        await asyncio.sleep(5)

    async def silent(self, _peer: Any, _turn: int) -> None:
        await asyncio.sleep(5)

    async def page(self, peer: Any, _turn: int) -> None:
        await peer.send(self.loopback.body(b"<html>\xff login", kind="text/html"))

    async def moved(self, peer: Any, _turn: int) -> None:
        await peer.send(self.loopback.body(b"", status=302, headers={"Location": "http://elsewhere/"}))

    async def torn(self, peer: Any, _turn: int) -> None:
        await self.frames(peer, chunk("可"), 'data: {"choices"')

    async def halves(self, peer: Any, _turn: int) -> None:
        await self.frames(
            peer, 'data: {"choices":[{"delta":{"content":"\\ud83d\u2028"}}]}\n\n', "data: [DONE]\n\n"
        )

    async def zipped(self, peer: Any, _turn: int) -> None:
        body = gzip.compress((chunk("压") + "data: [DONE]\n\n").encode())
        await peer.send(
            self.loopback.body(body, kind="text/event-stream", headers={"Content-Encoding": "gzip"})
        )

    async def endless(self, peer: Any, _turn: int) -> None:
        await self.frames(peer, chunk("可"), b"data: " + b"x" * (1 << 20) + b"xxxxxxx")

    async def echo(self, peer: Any, _turn: int) -> None:
        await self.frames(peer, chunk(f"your key is {KEY[:-1]}, keep it"), "data: [DONE]\n\n")

    async def cut_echo(self, peer: Any, _turn: int) -> None:
        body = (chunk(f"key {KEY[:-1]}") + "data: [DONE]\n\n").encode()
        at = body.index(b"canary") + 4
        await self.frames(peer, body[:at], body[at:])

    async def pieces(self, peer: Any, _turn: int) -> None:
        await self.frames(peer, chunk(KEY[:8]), chunk(KEY[8:-1]), "data: [DONE]\n\n")


KINDS = (
    *("fine", "reset", "flaky", "limited", "drips", "silent", "page", "moved", "torn", "halves", "zipped"),
    *("endless", "echo", "cut_echo"),
)


def captured(
    folder: Path, loopback: Any, cases: list[Case], script: Any = None, **settings: Any
) -> tuple[Manifest, Callable[..., Any]]:
    """A captured run of `openai` against the script, its server gone since."""
    params = {"model": "m", "retries": 1, "first_event_deadline_s": 1.5, "total_deadline_s": 2.5}

    async def main() -> tuple[Manifest, Callable[..., Any]]:
        async with loopback(script or Script(loopback)) as server:
            bound = bind("target", Spec("openai", {**params, "base_url": server.url}))
            plan = Plan(runs_dir=folder, run_id="r", target="openai", capture=True, **settings)
            return await run(cases, bound, plan), bound

    return asyncio.run(main())


def lines_of(folder: Path, name: str) -> list[bytes]:
    raw = (folder / f"{name}.jsonl").read_bytes()
    return raw.replace(b'"run_id": "%s"' % name.encode(), b'"run_id": "?"').splitlines()


def same(folder: Path, bound: Callable[..., Any], name: str = "again") -> Replayed:
    """The replay, its file equal to that of the run byte for byte but for the run's name."""
    done = replay(folder / "r.jsonl", bound, run_id=name)
    assert lines_of(folder, name) == lines_of(folder, "r")
    assert done.identical == done.replayed == done.manifest.recorded
    return done


def test_whatever_the_network_did_comes_again_byte_for_byte(
    tmp_path: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = [Case(sample_id=kind, query=f"{kind} 问") for kind in KINDS] + [CHATTY]
    manifest, bound = captured(tmp_path, loopback, cases)
    assert manifest.recorded == len(cases)
    kinds = {
        record.sample_id: record.answer_error.kind if record.answer_error else "ok"
        for record in read(tmp_path / "r.jsonl", EvalRecord).items
    }
    assert kinds == {
        **dict.fromkeys(("fine", "flaky", "halves", "zipped", "echo", "cut_echo", "d1"), "ok"),
        "reset": "incomplete_read",
        "limited": "rate_limited",
        "drips": "deadline.total",
        "silent": "deadline.first_event",
        "page": "bad_content_type",
        "moved": "redirect",
        "torn": "incomplete",
        "endless": "too_large",
    }
    monkeypatch.delenv("OPENAI_API_KEY")  # no key is needed
    assert same(tmp_path, bound).replayed == len(cases)
    assert same(tmp_path, bound, "third").manifest.settings["replay_of"] == "r"


def test_a_schedule_and_doubts_of_the_client_come_again(tmp_path: Path, loopback: Any) -> None:
    """A blocked loop flags what it made late; nothing blocks while that is replayed."""

    class Blocking(Script):
        async def late(self, peer: Any, turn: int) -> None:
            await self.fine(peer, turn)
            time.sleep(0.3)  # noqa: ASYNC251 - the block

    cases = [Case(sample_id=str(n), query="late" if n == 1 else "fine") for n in range(6)]
    _, bound = captured(tmp_path, loopback, cases, Blocking(loopback), rate=20.0)
    records = read(tmp_path / "r.jsonl", EvalRecord).items
    assert all(record.scheduled_at for record in records)
    assert any("client_saturated" in record.flags for record in records)
    same(tmp_path, bound)


def test_nobody_is_asked(tmp_path: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, bound = captured(tmp_path, loopback, [Case(sample_id="a", query="fine")])

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr("socket.socket.connect", refused)
    same(tmp_path, bound)


def test_no_secret_is_in_the_capture_and_what_came_in_pieces_is_withheld(
    tmp_path: Path, loopback: Any
) -> None:
    cases = [Case(sample_id=kind, query=kind) for kind in ("echo", "cut_echo", "pieces", "fine")]
    _, bound = captured(tmp_path, loopback, cases)
    plain = gzip.decompress((tmp_path / "r.capture").read_bytes()).decode()
    assert KEY[:-1] not in plain
    assert KEY[8:-1] not in plain.replace("canary-k", "")
    assert '["authorization", "***"]' in plain
    done = replay(tmp_path / "r.jsonl", bound, run_id="again")
    assert (done.replayed, done.identical, done.withheld) == (3, 3, 1)
    answers = {record.sample_id: record for record in read(tmp_path / "again.jsonl", EvalRecord).items}
    assert answers["echo"].response == "your key is ***, keep it"
    assert "secret_in_answer" in answers["cut_echo"].flags


def test_a_lookup_that_gave_up_gives_up_again(tmp_path: Path, loopback: Any) -> None:
    """Polls of a trace that is never there: as many as then, though no time passes."""
    spec = {
        "answer": {
            "url": "{base_url}/a",
            "events": [{"text": "t", "ids": {"trace_id": "id"}}, {"end": True}],
        },
        "parameters": {"base_url": {"about": "where"}},
        "evidence": {
            "url": "{base_url}/t/{trace_id}",
            "method": "GET",
            "until": "done",
            "every_s": 0.05,
            "within_s": 0.3,
            "source": "trace",
        },
    }

    async def answer(request: Any, peer: Any) -> None:
        if request.path == "/a":
            await peer.send(loopback.STREAM, loopback.piece(b'data: {"t":"x","id":"7"}\n\n'), loopback.END)
        else:
            await asyncio.sleep(0.03)
            await peer.send(loopback.json({"done": False}))

    own = target("own", TargetSpec.model_validate(spec))

    async def main() -> Any:
        async with loopback(answer) as server:
            bound = bind_own(own, server.url)
            plan = Plan(runs_dir=tmp_path, run_id="r", target="own", capture=True)
            await run([Case(sample_id=str(n), query="q") for n in range(3)], bound, plan)
            return bound

    bound = asyncio.run(main())
    same(tmp_path, bound)
    assert b"trace_late" in (tmp_path / "again.jsonl").read_bytes()


def bind_own(function: Any, url: str) -> Any:
    from functools import partial

    return partial(function, base_url=url)


def test_a_resumed_run_is_captured_section_by_section(tmp_path: Path, loopback: Any) -> None:
    cases = [Case(sample_id=f"c{n}", query="fine") for n in range(4)]
    captured(tmp_path, loopback, cases, rate=None)
    kept = (tmp_path / "r.jsonl").read_bytes().splitlines(keepends=True)[:2]
    (tmp_path / "r.jsonl").write_bytes(b"".join(kept))
    entries, _ = stored(tmp_path / "r.capture")
    members = (tmp_path / "r.capture").read_bytes().split(b"\x1f\x8b\x08\0\0\0\0\0")
    (tmp_path / "r.capture").write_bytes(
        b"\x1f\x8b\x08\0\0\0\0\0".join(members[:4]) + members[4][:0] + b"\x1f\x8b\x08"
    )
    assert len(entries) == 5
    _, bound = captured(tmp_path, loopback, cases, resume=True)
    done = same(tmp_path, bound)
    assert (done.replayed, done.unreadable) == (4, 3)


def test_a_capture_torn_or_broken_anywhere_loses_those_samples_alone(tmp_path: Path, loopback: Any) -> None:
    captured(tmp_path, loopback, [Case(sample_id=f"c{n}", query="fine") for n in range(3)])
    path = tmp_path / "r.capture"
    whole = path.read_bytes()
    starts = [at for at in range(len(whole)) if whole.startswith(b"\x1f\x8b\x08\0\0\0\0\0", at)]
    assert len(starts) == 4
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        entries, lost = stored(path)
        ends = [*starts[1:], len(whole)]
        assert len(entries) == sum(end <= size for end in ends)
        assert lost == size - max([end for end in ends if end <= size], default=0)
    for at in range(starts[1], starts[2], 5):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        assert len(stored(path)[0]) == 3 or whole[at - starts[1]] in whole[:10]
    path.write_bytes(whole[: starts[1] + 40] + whole[starts[2] :])
    assert [entry.case.sample_id for entry in stored(path)[0][1:] if entry.case] == ["c1", "c2"]


CHILD = """
import asyncio, sys
from pathlib import Path
from evalkit.contracts import Case
from evalkit.registry import Spec, bind
from evalkit.runner import Plan, run
bound = bind("target", Spec("openai", {"model": "m", "base_url": sys.argv[2], "retries": 0}))
cases = [Case(sample_id=str(n), query="fine") for n in range(3000)]
plan = Plan(runs_dir=Path(sys.argv[1]), run_id="r", target="openai", capture=True)
asyncio.run(run(cases, bound, plan, on_record=lambda record: print(record.key, flush=True)))
"""


def test_what_was_acknowledged_before_kill_9_is_in_the_capture(tmp_path: Path, loopback: Any) -> None:
    async def main() -> set[str]:
        async with loopback(Script(loopback)) as server:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", CHILD, str(tmp_path), server.url),
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
            )
            assert child.stdout
            told = [await child.stdout.readline() for _ in range(30)]
            child.send_signal(signal.SIGKILL)
            told += (await child.stdout.read()).splitlines(keepends=True)
            await child.wait()
            return {line.decode().strip() for line in told if line.endswith(b"\n")}

    acknowledged = asyncio.run(asyncio.wait_for(main(), 60))
    kept = {entry.case.sample_id for entry in stored(tmp_path / "r.capture")[0] if entry.case}
    assert len(acknowledged) >= 30
    assert acknowledged <= kept


def test_a_target_that_shows_no_bytes_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    async def own(case: Case) -> Observation:
        return Observation(response="x")

    with pytest.raises(UsageError, match="--capture: the target own does not say"):
        asyncio.run(run([Case(sample_id="1", query="q")], own, Plan(runs_dir=tmp_path, capture=True)))
    assert not list(tmp_path.iterdir())


def test_there_is_nothing_to_replay_without_a_capture(tmp_path: Path, loopback: Any) -> None:
    _, bound = captured(tmp_path, loopback, [Case(sample_id="1", query="fine")])
    with pytest.raises(UsageError, match="wanted a new run"):
        replay(tmp_path / "r.jsonl", bound, run_id="r")
    (tmp_path / "r.meta.json").rename(tmp_path / "r.meta")
    with pytest.raises(UsageError, match="found no manifest"):
        replay(tmp_path / "r.jsonl", bound)
    (tmp_path / "r.capture").unlink()
    with pytest.raises(NoInput, match="make the run with --capture"):
        replay(tmp_path / "r.jsonl", bound)
    assert runs.latest(tmp_path).name == "r.jsonl"


def test_the_shop_captured_and_replayed_by_the_commands(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        '{"sample_id": "a", "query": "耳机能退吗"}\n{"sample_id": "b", "messages": ["我要报修", "空调"]}\n',
        "utf-8",
    )

    def command(*words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-m", "evalkit", *words],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    command("run", "cases.jsonl", "--target", "demo", "--run-id", "r", "--capture")
    assert "2 replayed, 2 identical, 0 withheld" in command("replay", "r", "--run-id", "again")
    assert lines_of(tmp_path / "runs", "again") == lines_of(tmp_path / "runs", "r")
