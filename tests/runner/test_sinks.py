"""Where a run ends up: no secret in any sink, private files, a name in every request, a loop that is watched."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

from evalkit.contracts import Case, Observation
from evalkit.errors import StorageError
from evalkit.net.exchange import ASKED_FOR
from evalkit.net.keys import mask_of
from evalkit.registry import Spec, bind
from evalkit.runner import Plan, run
from evalkit.writing import LineFile

ROOT = Path(__file__).parents[2]
CANARY = "sk-canary/55=77 白"[:-2]


def test_an_own_target_that_repeats_a_key_of_the_environment_is_blacked_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K2, K4: in an answer, in an exception, in a tool's result, in any of its spellings."""
    monkeypatch.setenv("MY_BOT_API_KEY", CANARY)

    async def ask(case: Case) -> Observation:
        if case.sample_id == "raises":
            raise ConnectionError(f"401 for {urllib.parse.quote(CANARY, safe='')}")
        return Observation(response=f"{CANARY} {base64.b64encode(CANARY.encode()).decode()}")

    cases = [Case(sample_id=name, query="q") for name in ("says", "raises")]
    asyncio.run(run(cases, ask, Plan(runs_dir=tmp_path, run_id="r", concurrency=1)))
    raw = (tmp_path / "r.jsonl").read_text(encoding="utf-8")
    assert "canary" not in raw
    assert base64.b64encode(CANARY.encode()).decode() not in raw
    says, raises = map(json.loads, raw.splitlines())
    assert (says["response"], says["flags"]) == ("*** ***", ["secret_in_answer"])
    assert raises["answer_error"]["message"] == "ConnectionError: 401 for ***"


def test_no_log_record_holds_a_secret_at_any_level(caplog: pytest.LogCaptureFixture) -> None:
    """K1, K3: message, arguments, traceback; arguments that do not fit are no way around."""
    mask_of("canary-in-the-log-1")
    with caplog.at_level(logging.DEBUG):
        logger = logging.getLogger("some.library")
        logger.debug("GET https://u:%s@host/?key=%s", "canary-in-the-log-1", "canary-in-the-log-1")
        logger.info("canary-in-the-log-1 %d", "no number")
        try:
            int("canary-in-the-log-1")
        except ValueError:
            logger.exception("failed with {canary-in-the-log-1}")
    assert len(caplog.records) == 3
    assert "canary-in-the-log" not in caplog.text
    assert "with base 10: '***'" in caplog.text


BOTS = """
import logging, os
from evalkit import Observation
logging.basicConfig(level=logging.DEBUG)
async def leaky(case, /):
    logging.getLogger("x").error("key %s", os.environ["LEAKY_TOKEN"])
    print_to = os.environ["LEAKY_TOKEN"]
    raise RuntimeError(print_to)
def broken(): raise SystemExit(os.environ["LEAKY_TOKEN"])
from contextlib import asynccontextmanager
@asynccontextmanager
async def closed():
    from evalkit.errors import UsageError
    raise UsageError("login refused: " + os.environ["LEAKY_TOKEN"])
    yield
async def blocks(case, /):
    import time
    if case.sample_id == "c1": time.sleep(3)
    return Observation(response="x")
"""


def command(place: Path, *words: str, **variables: str) -> tuple[int, str]:
    (place / "bots.py").write_text(BOTS, "utf-8")
    lines = [json.dumps({"sample_id": f"c{n}", "query": "q"}) for n in range(3)]
    (place / "cases.jsonl").write_text("\n".join(lines), "utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words],
        cwd=place,
        env={**os.environ, "PYTHONPATH": str(ROOT), "LEAKY_TOKEN": "canary-90311", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("target", ["leaky", "closed"])
@pytest.mark.parametrize("variables", [{}, {"EVALKIT_DEBUG": "1"}], ids=["quiet", "debug"])
def test_no_secret_is_on_the_terminal_or_in_any_file(tmp_path: Path, target: str, variables: Any) -> None:
    """K2, K3: records, manifest, reports, errors, debug logs and tracebacks of a whole process."""
    code, said = command(tmp_path, "eval", "cases.jsonl", "--target", f"bots:{target}", "--json", **variables)
    assert code in (2, 3)
    assert "***" in said
    assert "canary" not in said
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"canary-90311" not in path.read_bytes(), path


def test_a_target_that_holds_the_loop_is_named_while_it_does(tmp_path: Path) -> None:
    code, said = command(tmp_path, "run", "cases.jsonl", "--target", "bots:blocks", "-c", "2")
    assert code == 0
    assert "holds the event loop in sample c1; all others wait" in said
    assert said.count("holds the event loop") == 1


def test_every_request_names_its_sample_and_the_name_fits_a_header(
    tmp_path: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HAZARDS 5: calls are at least once; the header lets a service tell a case that was asked again."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    headers: list[str] = []

    async def answer(request: Any, peer: Any) -> None:
        headers.append(request.headers[ASKED_FOR.lower()])
        frame = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'
        await peer.send(loopback.STREAM, loopback.piece(frame), loopback.END)

    async def main() -> None:
        async with loopback(answer) as server:
            bound = bind("target", Spec("openai", {"model": "m", "base_url": server.url}))
            cases = [Case(sample_id="退 1\r\nX: y", query="q")]
            await run(cases, bound, Plan(runs_dir=tmp_path, run_id="r", repeat=2, concurrency=1))

    asyncio.run(main())
    name = "r/" + urllib.parse.quote("退 1\r\nX: y")
    assert headers == [name, f"{name}#1"]


def test_files_are_private_whatever_the_umask(tmp_path: Path, loopback: Any) -> None:
    """K6."""
    before = os.umask(0)
    try:
        code, _ = command(tmp_path, "run", "cases.jsonl", "--target", "demo", "--run-id", "r", "--capture")
    finally:
        os.umask(before)
    assert code == 0
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "runs").iterdir()}
    assert modes == dict.fromkeys(("r.jsonl", "r.meta.json", "r.capture"), 0o600)
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o700


def test_a_key_on_the_command_line_is_refused(tmp_path: Path) -> None:
    """K7."""
    code, said = command(
        tmp_path, "run", "cases.jsonl", "--target", "openai", "--set", "api_key=canary-90311"
    )
    assert (code, "canary" in said) == (2, False)


def test_warm_up_is_asked_before_and_not_recorded(tmp_path: Path) -> None:
    """M13: the first question is slow, and in no figure."""
    asked: list[str] = []

    async def ask(case: Case) -> Observation:
        asked.append(case.sample_id)
        return Observation(response=str(len(asked)))

    cases = [Case(sample_id=f"c{n}", query="q") for n in range(4)]
    plan = Plan(runs_dir=tmp_path, run_id="r", warmup=2, concurrency=1)
    manifest = asyncio.run(run(cases, ask, plan))
    assert asked == ["c0", "c1", "c0", "c1", "c2", "c3"]
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text("utf-8").splitlines()]
    assert [line["response"] for line in lines] == ["3", "4", "5", "6"]
    assert (manifest.recorded, manifest.settings["warmup"]) == (4, 2)


def test_a_run_is_not_resumed_with_another_description(tmp_path: Path, loopback: Any) -> None:
    """F4: the table of a target changes between run and resume."""

    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, loopback.piece(b'data: {"t":"x","u":"y"}\n\n'), loopback.END)

    def described(url: str, path: str) -> None:
        table = f'[targets.desk.answer]\nurl = "{url}/a"\n[[targets.desk.answer.events]]\ntext = "{path}"\nend = true\n'
        (tmp_path / "evalkit.toml").write_text(table, "utf-8")

    async def main() -> list[tuple[int, str]]:
        async with loopback(answer) as server:
            words = ("run", "cases.jsonl", "--target", "desk", "--run-id", "r")
            described(server.url, "t")
            found = [await asyncio.to_thread(command, tmp_path, *words)]
            found.append(await asyncio.to_thread(command, tmp_path, *words, "--resume"))
            described(server.url, "u")
            return [*found, await asyncio.to_thread(command, tmp_path, *words, "--resume")]

    codes, said = zip(*asyncio.run(main()), strict=True)
    assert codes == (0, 0, 2)
    assert "target_config.description_sha256" in said[2]


# ---- durability


class Disk:
    """What of each file would survive a power cut: as many bytes as were there at its last sync."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.synced: dict[int, int] = {}
        self.refuses = False
        for name in ("fsync", "fdatasync"):
            monkeypatch.setattr(os, name, self.sync)

    def sync(self, descriptor: int) -> None:
        if self.refuses:
            raise OSError(5, "Input/output error")
        stat = os.fstat(descriptor)
        self.synced[stat.st_ino] = stat.st_size

    def cut_power(self, path: Path) -> None:
        os.truncate(path, self.synced.get(path.stat().st_ino, 0))


@pytest.mark.parametrize(("durability", "lost"), [("power", 0), ("process", 3)])
def test_what_a_power_cut_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durability: Any, lost: int
) -> None:
    """F7: the shim drops what was not synced; acknowledged records of `power` are all there."""
    disk, acknowledged = Disk(monkeypatch), list[str]()
    left: list[int] = []

    async def ask(case: Case) -> Observation:
        return Observation(response="x")

    def acknowledge(record: Any) -> None:
        acknowledged.append(record.key)
        if len(acknowledged) == 3:
            path = tmp_path / "r.jsonl"
            whole = path.read_bytes()
            disk.cut_power(path)
            left.append(path.read_bytes().count(b"\n"))
            path.write_bytes(whole)

    cases = [Case(sample_id=str(n), query="q") for n in range(3)]
    plan = Plan(runs_dir=tmp_path, run_id="r", durability=durability, concurrency=1)
    manifest = asyncio.run(run(cases, ask, plan, on_record=acknowledge))
    assert left == [3 - lost]
    assert manifest.settings["durability"] == durability


def test_a_sync_that_is_refused_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: not tried again, not acknowledged, nothing before it touched."""
    disk = Disk(monkeypatch)
    with LineFile(tmp_path / "a.jsonl", new=True, power=True) as file:
        file.append(b"1\n")
        disk.refuses = True
        with pytest.raises(StorageError, match="Input/output error"):
            file.append(b"2\n")
    assert (tmp_path / "a.jsonl").read_bytes() == b"1\n"


def test_the_time_of_a_record_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """F10: as many system calls and bytes for the last record as for the first."""
    calls: list[int] = []
    real = os.write

    def write(descriptor: int, data: Any) -> int:
        calls.append(len(data))
        return real(descriptor, data)

    async def ask(case: Case) -> Observation:
        return Observation(response="x" * 100)

    cases = [Case(sample_id=f"{n:05}", query="q") for n in range(500)]
    os.write = write
    try:
        asyncio.run(run(cases, ask, Plan(runs_dir=tmp_path, run_id="r", concurrency=1)))
    finally:
        os.write = real
    records = [size for size in calls if size > 900]
    assert len([size for size in records if size == max(set(records), key=records.count)]) >= 490


def test_durations_are_of_a_monotonic_clock(
    tmp_path: Path, loopback: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M5: the wall clock goes back an hour inside the run."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    wall = time.time

    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM)
        await asyncio.sleep(0.05)
        monkeypatch.setattr(time, "time", lambda: wall() - 3600)
        frame = b'data: {"choices":[{"delta":{"content":"x"}}]}\n\ndata: [DONE]\n\n'
        await peer.send(loopback.piece(frame), loopback.END)

    async def main() -> None:
        async with loopback(answer) as server:
            bound = bind("target", Spec("openai", {"model": "m", "base_url": server.url}))
            await run([Case(sample_id="1", query="q")], bound, Plan(runs_dir=tmp_path, run_id="r"))

    asyncio.run(main())
    (record,) = map(json.loads, (tmp_path / "r.jsonl").read_text("utf-8").splitlines())
    assert 40 < record["ttft_ms"] <= record["total_ms"] < 60_000
