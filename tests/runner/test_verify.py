"""`verify` counts every line whatever happened to the file, and `repair` loses no byte of it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import runs, writing
from evalkit.contracts import Case, EvalRecord, Observation, ToolCall
from evalkit.errors import Locked, NoInput
from evalkit.reading import read
from evalkit.runner import Plan, run
from evalkit.runner.repairing import Repaired, repair
from evalkit.runner.verifying import Verified, verify

ROOT = Path(__file__).parents[2]
CASES = [Case(sample_id=f"c{n}", query=f"第{n}个问题") for n in range(4)]
BOM = b"\xef\xbb\xbf"


async def ask(case: Case) -> Observation:
    """An answer with what odd readers cut at."""
    return Observation(response=f"答{case.sample_id}\u2028\u2029\x85\x1c", retrieved_doc_ids=())


def made(folder: Path, target: Any = ask, *, count: int = 4) -> list[bytes]:
    """A complete run `r`; its lines."""
    plan = Plan(runs_dir=folder, run_id="r", target="t", concurrency=1)
    asyncio.run(run(CASES[:count], target, plan))
    return (folder / "r.jsonl").read_bytes().splitlines(keepends=True)


def law(found: Verified) -> Verified:
    assert found.lines == found.ok + found.rejected + found.torn + found.blank
    assert found.samples + found.superseded == found.ok
    return found


def checked(folder: Path) -> Verified:
    return law(verify(folder / "r.jsonl"))


def mended(folder: Path) -> Repaired:
    """The repair, once nothing of the file before is missing from the files after it."""
    path, torn = folder / "r.jsonl", folder / "r.torn"
    before, known = path.read_bytes(), torn.read_bytes() if torn.exists() else b""
    done = repair(path)
    law(done.now)
    assert (done.now.rejected, done.now.torn) == (0, 0)
    assert not read(path, EvalRecord).faults
    if done.original:
        assert done.original.read_bytes() == before
    assert done.now.fragments - (len(known) - known.count(b"\n")) == done.set_aside
    left = path.read_bytes() + (torn.read_bytes() if torn.exists() else b"").removeprefix(known)
    assert census(left) == census(before)
    return done


def census(data: bytes) -> list[int]:
    """How often each byte is there, line ends aside."""
    counts: list[int] = np.bincount(np.frombuffer(data, np.uint8), minlength=256).tolist()
    counts[ord("\n")] = 0
    return counts


def test_a_whole_run_is_ok_line_by_line_and_is_not_touched(tmp_path: Path) -> None:
    lines = made(tmp_path)
    found = checked(tmp_path)
    assert (found.lines, found.ok, found.samples, found.state) == (4, 4, 4, "complete")
    assert (found.finished, found.disagreements, found.rejects) == (True, (), ())
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert mended(tmp_path).original is None
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert len(lines) == 4


def test_a_tail_torn_at_any_byte_is_one_torn_line_and_nothing_of_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a thousand repairs; no power cut is feared here
    lines = made(tmp_path, count=2)
    path, meta = tmp_path / "r.jsonl", (tmp_path / "r.meta.json").read_bytes()
    for size in range(1, len(lines[1]) + 1):
        for beside in tmp_path.glob("r.*"):
            beside.unlink()
        (tmp_path / "r.meta.json").write_bytes(meta)
        path.write_bytes(lines[0] + lines[1][:size])
        holds = size >= len(lines[1]) - 1
        found = checked(tmp_path)
        assert (found.ok, found.torn, found.finished) == ((2, 0, True) if holds else (1, 1, False))
        assert bool(found.disagreements) is not holds  # the manifest says complete
        done = mended(tmp_path)
        assert done.set_aside == (0 if holds else size)
        now = runs.manifest(path)
        assert now
        assert (now.recorded, now.state) == ((2, "complete") if holds else (1, "interrupted"))


CHILD = """
import asyncio, sys
from pathlib import Path
from evalkit.contracts import Case, Observation
from evalkit.runner import Plan, run
async def ask(case):
    return Observation(response="答" * 20000, retrieved_doc_ids=())
cases = [Case(sample_id=str(n), query="q") for n in range(3000)]
plan = Plan(runs_dir=Path(sys.argv[1]), run_id="r", target="t", concurrency=4)
asyncio.run(run(cases, ask, plan, on_record=lambda record: print(record.key, flush=True)))
"""


def test_what_kill_9_leaves_is_counted_and_mended(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        acknowledged = [child.stdout.readline() for _ in range(40)]
        child.send_signal(signal.SIGKILL)
        acknowledged += child.stdout.readlines()
    found = checked(tmp_path)
    assert found.state == "running"
    assert (found.finished, found.rejected) == (False, 0)
    assert found.ok >= len([key for key in acknowledged if key.endswith("\n")])
    done = mended(tmp_path)
    assert (done.now.ok, done.now.state) == (found.ok, "interrupted")


def damage(name: str) -> Callable[[list[bytes]], bytes]:
    return {
        "two records in a line": lambda lines: lines[0] + lines[1].rstrip() + lines[2] + lines[3],
        "a record behind a fragment": lambda lines: lines[0] + lines[1][:40] + lines[2] + lines[3],
        "zeros at the end": lambda lines: b"".join(lines) + b"\0" * 70_000,
        "zeros before a record": lambda lines: lines[0] + b"\0" * 4096 + b"".join(lines[1:]),
        "zeros in a record": lambda lines: lines[0] + lines[1][:90] + b"\0" * 90 + lines[1][180:] + lines[2],
        "a mark before the first": lambda lines: BOM + b"".join(lines),
        "a mark in the middle": lambda lines: lines[0] + BOM + b"".join(lines[1:]),
        "a broken character": lambda lines: (
            lines[0] + lines[1].replace("答".encode(), b"\xe7\xad") + lines[2]
        ),
        "another encoding": lambda lines: lines[0] + lines[1].decode().encode("gbk", "replace") + lines[2],
        "blank lines": lambda lines: b"\n" + lines[0] + b"  \n\r\n" + b"".join(lines[1:]) + b"\n",
        "windows line ends": lambda lines: b"".join(line[:-1] + b"\r\n" for line in lines),
        "a line of another kind": lambda lines: lines[0] + b'{"sample": "x"}\n[1]\n' + b"".join(lines[1:]),
        "no line end at the end": lambda lines: b"".join(lines)[:-1],
        "the same line twice": lambda lines: b"".join(lines) + lines[0],
        "an endless line": lambda lines: lines[0] + b"x" * (17 << 20) + b"\n" + b"".join(lines[1:]),
    }[name]


@pytest.mark.parametrize(
    ("name", "counts", "rescued", "samples"),
    [  # counts: ok, rejected, torn, blank before the repair; samples after it
        ("two records in a line", (2, 1, 0, 0), 2, 4),
        ("a record behind a fragment", (2, 1, 0, 0), 1, 3),
        ("zeros at the end", (4, 0, 1, 0), 0, 4),
        ("zeros before a record", (3, 1, 0, 0), 1, 4),
        ("zeros in a record", (2, 1, 0, 0), 0, 2),
        ("a mark before the first", (4, 0, 0, 0), 0, 4),
        ("a mark in the middle", (3, 1, 0, 0), 1, 4),
        ("a broken character", (2, 1, 0, 0), 0, 2),
        ("another encoding", (2, 1, 0, 0), 0, 2),
        ("blank lines", (4, 0, 0, 4), 0, 4),
        ("windows line ends", (4, 0, 0, 0), 0, 4),
        ("a line of another kind", (4, 2, 0, 0), 0, 4),
        ("no line end at the end", (4, 0, 0, 0), 0, 4),
        ("the same line twice", (5, 0, 0, 0), 0, 4),
        ("an endless line", (4, 1, 0, 0), 0, 4),
    ],
)
def test_every_kind_of_damage_is_counted_and_mended(
    tmp_path: Path, name: str, counts: tuple[int, ...], rescued: int, samples: int
) -> None:
    raw = damage(name)(made(tmp_path))
    (tmp_path / "r.jsonl").write_bytes(raw)
    found = checked(tmp_path)
    assert (found.ok, found.rejected, found.torn, found.blank) == counts
    for reject in found.rejects:
        assert raw[reject.offset - 1 : reject.offset] in (b"", b"\n")
        assert raw[reject.offset + reject.bytes : reject.offset + reject.bytes + 1] == b"\n"
    done = mended(tmp_path)
    assert (done.rescued, done.now.samples) == (rescued, samples)
    assert (done.now.disagreements, mended(tmp_path).original) == ((), None)


def test_a_record_that_a_target_tells_inside_a_torn_one_is_not_taken_for_one(tmp_path: Path) -> None:
    """A tool result looks like a record of this very run, and the line is torn after it."""

    async def forge(case: Case) -> Observation:
        forged = {"sample_id": "c3", "query": "q", "run_id": "r", "response": "完美"}
        calls = (ToolCall(name="t", arguments={}, result=forged),)
        return Observation(response="答", tool_calls=calls, retrieved_doc_ids=())

    (line,) = made(tmp_path, forge, count=1)
    assert b'{"sample_id": "c3"' in line
    (tmp_path / "r.jsonl").write_bytes(line[:-9])
    assert mended(tmp_path).rescued == 0


def test_a_record_of_another_run_inside_a_broken_line_is_not_taken(tmp_path: Path) -> None:
    lines = made(tmp_path)
    other = lines[1].replace(b'"run_id": "r"', b'"run_id": "s"')
    assert other != lines[1]
    (tmp_path / "r.jsonl").write_bytes(lines[0] + lines[2].rstrip() + other)
    assert mended(tmp_path).rescued == 1


def test_a_file_that_was_renamed_is_mended_by_the_run_that_its_lines_are_of(tmp_path: Path) -> None:
    lines = made(tmp_path)
    glued = b"".join([lines[0], lines[1].rstrip(), lines[2], lines[3][:40]])
    (tmp_path / "other.jsonl").write_bytes(glued)
    done = repair(tmp_path / "other.jsonl")
    assert (done.rescued, done.set_aside, done.now.ok, done.now.fragments) == (2, 40, 3, 40)
    assert (tmp_path / "other.torn").read_bytes() == lines[3][:40] + b"\n"
    assert (tmp_path / "other.before-repair").read_bytes() == glued
    assert (tmp_path / "r.jsonl").read_bytes() == b"".join(lines)


@given(
    st.lists(
        st.tuples(st.sampled_from(["cut", "zero", "glue", "flip", "insert"]), st.integers(0, 10**6)),
        max_size=4,
    )
)
def test_any_damage_keeps_the_law_and_every_byte(
    tmp_path_factory: pytest.TempPathFactory, blows: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    raw = b"".join(made(folder))
    for how, place in blows:
        at = place % (len(raw) or 1)
        raw = {
            "cut": raw[:at],
            "zero": raw[:at] + b"\0" * 64 + raw[at + 64 :],
            "glue": raw.replace(b"\n", b"", 1),
            "flip": raw[:at] + bytes([place % 256]) + raw[at + 1 :],
            "insert": raw[:at] + b"\n\xff" + raw[at:],
        }[how]
    (folder / "r.jsonl").write_bytes(raw)
    checked(folder)
    mended(folder)


def test_repairs_follow_one_another_and_each_original_is_kept(tmp_path: Path) -> None:
    lines = made(tmp_path)
    for end in (b"torn", b"again"):
        (tmp_path / "r.jsonl").write_bytes(b"".join(lines) + end)
        mended_once = repair(tmp_path / "r.jsonl")
        assert mended_once.set_aside == len(end)
    assert (tmp_path / "r.torn").read_bytes() == b"torn\nagain\n"
    assert (tmp_path / "r.before-repair").read_bytes().endswith(b"torn")
    assert (tmp_path / "r.before-repair-2").read_bytes().endswith(b"again")
    assert runs.latest(tmp_path).name == "r.jsonl"


def test_a_run_that_is_written_is_verified_and_not_repaired(tmp_path: Path) -> None:
    made(tmp_path)
    with writing.lock(tmp_path / "r.lock"):
        assert checked(tmp_path).ok == 4
        with pytest.raises(Locked):
            repair(tmp_path / "r.jsonl")


def test_a_manifest_that_disagrees_or_is_broken_is_told(tmp_path: Path) -> None:
    lines = made(tmp_path)
    (tmp_path / "r.jsonl").write_bytes(b"".join(lines[:3]))
    told = checked(tmp_path).disagreements
    assert told[0] == "recorded: found 3 on file, the manifest says 4"
    assert "complete" in told[-1] or "all 4" in told[-1]
    (tmp_path / "r.jsonl").write_bytes(b"".join(lines).replace(b'"run_id": "r"', b'"run_id": "s"', 1))
    assert checked(tmp_path).disagreements == ("run_id: found 1 records of 's', wanted 'r'",)
    (tmp_path / "r.meta.json").write_bytes(b'{"run_id": "r"')
    assert checked(tmp_path).disagreements[0].startswith("manifest: ")
    assert repair(tmp_path / "r.jsonl").original is None
    assert (tmp_path / "r.meta.json").read_bytes() == b'{"run_id": "r"'


def test_records_without_a_manifest_and_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "theirs.jsonl").write_bytes(b'{"sample_id": "1", "query": "q"}\n')
    found = law(verify(tmp_path / "theirs.jsonl"))
    assert (found.ok, found.state, found.finished) == (1, None, True)
    with pytest.raises(NoInput):
        verify(tmp_path / "none.jsonl")
    (tmp_path / "none.jsonl").write_bytes(b"\n \n")
    for look in (verify, repair):
        with pytest.raises(NoInput, match=r"none\.jsonl: found no record, wanted at least one line"):
            look(tmp_path / "none.jsonl")


def test_a_run_that_was_begun_and_has_no_line_yet_is_unfinished(tmp_path: Path) -> None:
    made(tmp_path)
    manifest = runs.manifest(tmp_path / "r.jsonl")
    assert manifest is not None
    runs.save(manifest.model_copy(update={"state": "running"}), tmp_path / "r.meta.json")
    (tmp_path / "r.jsonl").write_bytes(b"")
    assert (checked(tmp_path).lines, checked(tmp_path).finished) == (0, False)


def test_a_failed_sample_that_was_asked_again_is_a_superseded_line(tmp_path: Path) -> None:
    async def down(case: Case) -> Observation:
        raise ConnectionError

    made(tmp_path, down)
    plan = Plan(runs_dir=tmp_path, run_id="r", target="t", resume=True, retry_errors=True)
    asyncio.run(run(CASES, ask, plan))
    found = checked(tmp_path)
    assert (found.ok, found.samples, found.superseded, found.disagreements) == (8, 4, 4, ())


def command(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *words, "--runs-dir", str(folder)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout + done.stderr


def test_the_commands_end_with_what_they_found(tmp_path: Path) -> None:
    lines = made(tmp_path)
    path = tmp_path / "r.jsonl"
    code, said = command(tmp_path, "verify", "r")
    assert (code, "4 lines = 4 ok + 0 rejected + 0 torn + 0 blank" in said) == (0, True)
    path.write_bytes(lines[0] + b"\x1b[31m{\n" + b"".join(lines[1:]))
    code, said = command(tmp_path, "verify", "r")
    assert (code, f"line 2, byte {len(lines[0])}" in said, "\x1b" in said) == (65, True, False)
    assert command(tmp_path, "verify", "r", "--allow-rejects")[0] == 0
    code, said = command(tmp_path, "repair", "r", "--json")
    assert (code, '"set_aside": 6' in said) == (0, True)
    path.write_bytes(b"".join(lines) + b"{")
    assert command(tmp_path, "verify", "r")[0] == 3
    assert command(tmp_path, "verify", "nowhere")[0] == 66
