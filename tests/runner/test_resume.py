"""A run that ended anyhow goes on where it stopped: each sample exactly once, nothing lost, nothing mixed."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import pytest

from evalkit import runs
from evalkit.contracts import Case, EvalRecord, Manifest, Observation
from evalkit.errors import BadData, Locked, NoInput, UsageError
from evalkit.reading import read
from evalkit.records import load
from evalkit.runner import Plan, run

CASES = [Case(sample_id=f"c{n}", query=f"第{n}个问题") for n in range(4)]

CHILD = """
import asyncio, random, sys
from pathlib import Path
from evalkit.contracts import Case, Observation
from evalkit.runner import Plan, run
async def ask(case):
    await asyncio.sleep(random.random() * 0.01)
    return Observation(response="答" * 3000, retrieved_doc_ids=())
cases = [Case(sample_id=str(n), query="q") for n in range(300)]
plan = Plan(runs_dir=Path(sys.argv[1]), run_id="r", resume="resume" in sys.argv, target="t")
asyncio.run(run(cases, ask, plan, on_record=lambda record: print(record.key, flush=True)))
"""


class Asked:
    """A target that remembers whom it was asked, and fails the samples it is told to."""

    def __init__(self, *failing: str) -> None:
        self.failing = failing
        self.ids: list[str] = []

    async def __call__(self, case: Case) -> Observation:
        self.ids.append(case.sample_id)
        if case.sample_id in self.failing:
            raise ConnectionError("down")
        return Observation(response=f"答{case.sample_id}", retrieved_doc_ids=())


@contextlib.contextmanager
def child(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], TextIO]]:
    """A process that runs 300 cases and prints each key that is on file; it does not outlive the test."""
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(folder), *words], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            yield process, process.stdout
        finally:
            process.kill()


def go(folder: Path, ask: Any, *, cases: list[Case] = CASES, **settings: Any) -> Manifest:
    plan = Plan(runs_dir=folder, run_id="r", **{"target": "demo", "concurrency": 2, **settings})
    return asyncio.run(run(cases, ask, plan))


def on_file(folder: Path) -> list[EvalRecord]:
    reading = read(folder / "r.jsonl", EvalRecord)
    assert not reading.faults
    return reading.items


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def cut(folder: Path, lines: int) -> None:
    """Leave the first lines of the run, as if it had been killed after them."""
    path = folder / "r.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


def test_a_resumed_run_asks_only_what_has_no_line(tmp_path: Path) -> None:
    first = go(tmp_path, Asked())
    cut(tmp_path, 2)
    done = [record.key for record in on_file(tmp_path)]
    again = Asked()
    manifest = go(tmp_path, again, resume=True)
    assert sorted(done + again.ids) == ["c0", "c1", "c2", "c3"]
    assert sorted(record.key for record in on_file(tmp_path)) == ["c0", "c1", "c2", "c3"]
    assert (manifest.state, manifest.recorded, manifest.answer_ok) == ("complete", 4, 4)
    assert manifest.started_at == first.started_at


def test_repeats_are_resumed_one_by_one(tmp_path: Path) -> None:
    go(tmp_path, Asked(), repeat=3, concurrency=1)
    cut(tmp_path, 6)
    again = Asked()
    go(tmp_path, again, repeat=3, concurrency=1, resume=True)
    assert again.ids == ["c2", "c3", "c0", "c1", "c2", "c3"]
    assert Counter(record.repeat for record in on_file(tmp_path)) == {0: 4, 1: 4, 2: 4}


def test_a_complete_run_resumed_asks_nothing(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    lines = (tmp_path / "r.jsonl").read_bytes()
    again = Asked()
    assert go(tmp_path, again, resume=True).state == "complete"
    assert again.ids == []
    assert (tmp_path / "r.jsonl").read_bytes() == lines


def test_the_start_of_a_resumed_run_is_told_with_what_is_done(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    cut(tmp_path, 3)
    told: list[Manifest] = []
    plan = Plan(runs_dir=tmp_path, run_id="r", resume=True, target="demo")
    asyncio.run(run(CASES, Asked(), plan, on_start=told.append))
    assert [(start.planned, start.recorded, start.state) for start in told] == [(4, 3, "running")]


def test_failed_samples_are_done_unless_one_says_otherwise(tmp_path: Path) -> None:
    manifest = go(tmp_path, Asked("c1", "c3"))
    assert (manifest.state, manifest.recorded, manifest.answer_ok) == ("complete", 4, 2)
    again = Asked()
    assert go(tmp_path, again, resume=True).answer_ok == 2
    assert again.ids == []


def test_failed_samples_are_asked_anew_on_demand(tmp_path: Path) -> None:
    go(tmp_path, Asked("c1", "c3"))
    again = Asked("c3")
    manifest = go(tmp_path, again, resume=True, retry_errors=True)
    assert again.ids == ["c1", "c3"]
    rows = load(tmp_path / "r.jsonl")
    assert (len(rows), rows.superseded) == (4, 2)
    assert {row.key: row.answer_status for row in rows} == {"c0": "ok", "c1": "ok", "c2": "ok", "c3": "error"}
    assert (manifest.recorded, manifest.answer_ok) == (4, 3)


@pytest.mark.parametrize(
    ("statuses", "asked"),
    [
        ({"answer_status": "incomplete"}, True),
        ({"answer_status": "rejected"}, True),
        ({"evidence_status": "error"}, True),
        ({"answer_status": "skipped"}, False),
        ({"evidence_status": "skipped"}, False),
    ],
    ids=str,
)
def test_what_counts_as_failed(tmp_path: Path, statuses: dict[str, str], asked: bool) -> None:  # noqa: FBT001
    async def ask(case: Case) -> Observation:
        return Observation.model_validate({"response": "x", "retrieved_doc_ids": [], **statuses})

    go(tmp_path, ask)
    again = Asked()
    go(tmp_path, again, resume=True, retry_errors=True)
    assert bool(again.ids) is asked


def test_an_ok_answer_is_not_lost_to_a_later_failure(tmp_path: Path) -> None:
    async def half(case: Case) -> Observation:
        return Observation(response="x", evidence_status="error")

    go(tmp_path, half)
    manifest = go(tmp_path, Asked("c0", "c1"), resume=True, retry_errors=True)
    rows = load(tmp_path / "r.jsonl")
    assert manifest.answer_ok == sum(row.answer_status == "ok" for row in rows) == 4
    assert manifest.evidence_ok == sum(row.evidence_status == "ok" for row in rows) == 2


def test_what_others_noted_in_the_manifest_stays(tmp_path: Path) -> None:
    first = go(tmp_path, Asked())
    runs.save(first.model_copy(update={"ticket": "QA-7"}), tmp_path / "r.meta.json")
    assert go(tmp_path, Asked(), resume=True).model_extra == {"ticket": "QA-7"}
    found = runs.manifest(tmp_path / "r.jsonl")
    assert found
    assert found.model_extra == {"ticket": "QA-7"}


CHANGED = [*CASES[:3], Case(sample_id="c3", query="改过的问题")]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        pytest.param({"cases": CHANGED}, "eval_set_sha256", id="a case edited"),
        pytest.param({"eval_set_sha256": "f" * 64}, "eval_set_sha256", id="another file"),
        pytest.param({"selection": {"limit": 3}}, "selection", id="another selection"),
        pytest.param({"repeat": 2}, "repeat: found 2, wanted 1", id="another repeat"),
        pytest.param({"target": "ragent"}, "target: found 'ragent', wanted 'demo'", id="another target"),
    ],
)
def test_another_run_under_the_same_id_is_refused_and_nothing_changes(
    tmp_path: Path, changes: dict[str, Any], field: str
) -> None:
    go(tmp_path, Asked())
    path = tmp_path / "r.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    before = state(tmp_path)
    again = Asked()
    with pytest.raises(UsageError, match=field) as caught:
        go(tmp_path, again, resume=True, **changes)
    assert caught.value.exit_code == 2
    assert again.ids == []
    assert state(tmp_path) == before


def test_all_that_differs_is_named_at_once(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    with pytest.raises(UsageError, match=r"repeat: .*; target: "):
        go(tmp_path, Asked(), resume=True, repeat=2, target="ragent")


def test_a_target_that_is_configured_otherwise_is_not_resumed(tmp_path: Path) -> None:
    config = {"base_url": "http://a", "ids": ["x"], "concurrency": 2, "agent_streams": 1}
    go(tmp_path, Asked(), target_config=config)
    before = state(tmp_path)
    for name, other in {"base_url": "http://b", "reject": 0.2}.items():
        told = rf"target_config\.{name}: found '?{other}'?, wanted "
        with pytest.raises(UsageError, match=told):
            go(tmp_path, Asked(), resume=True, target_config={**config, name: other})
    assert state(tmp_path) == before
    faster = {**config, "concurrency": 9, "agent_streams": 3}
    assert go(tmp_path, Asked(), resume=True, target_config=faster).state == "complete"


def test_concurrency_and_rate_may_change(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    manifest = go(tmp_path, Asked(), resume=True, concurrency=5, rate=100)
    assert manifest.settings.items() >= {"repeat": 1, "concurrency": 5, "rate": 100}.items()


def test_resuming_what_is_not_there_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="start it without --resume"):
        go(tmp_path, Asked(), resume=True)
    assert not list(tmp_path.iterdir())


def test_records_without_a_manifest_are_not_resumed(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").write_bytes(b'{"sample_id": "c0"}\n')
    with pytest.raises(UsageError, match=r"without r\.meta\.json"):
        go(tmp_path, Asked(), resume=True)


def test_a_run_killed_before_its_first_line_is_resumed(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    (tmp_path / "r.jsonl").unlink()
    assert go(tmp_path, Asked(), resume=True).recorded == 4


def test_a_bad_line_in_the_middle_is_named_and_nothing_changes(tmp_path: Path) -> None:
    go(tmp_path, Asked())
    path = tmp_path / "r.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b'{"sample_id": "c\n' + b"".join(lines[2:]))
    before = state(tmp_path)
    with pytest.raises(BadData, match=r"r\.jsonl:2:15: line"):
        go(tmp_path, Asked(), resume=True)
    assert state(tmp_path) == before


def test_a_last_record_cut_at_any_byte_is_asked_again_or_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every offset: as many records as samples, no bad line, the fragment moved aside."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a thousand runs; no power cut is feared here
    go(tmp_path, Asked(), concurrency=1, cases=CASES[:2])
    path, torn = tmp_path / "r.jsonl", tmp_path / "r.torn"
    whole = path.read_bytes()
    last = whole.rfind(b"\n", 0, -1) + 1

    async def resume(asked: Asked) -> None:
        await run(CASES[:2], asked, Plan(runs_dir=tmp_path, run_id="r", resume=True, target="demo"))

    async def every_offset() -> None:
        for size in range(last, len(whole) + 1):
            path.write_bytes(whole[:size])
            torn.unlink(missing_ok=True)
            asked = Asked()
            await resume(asked)
            assert [record.key for record in on_file(tmp_path)] == ["c0", "c1"]
            kept = size >= len(whole) - 1
            assert asked.ids == ([] if kept else ["c1"])
            fragment = b"" if kept else whole[last:size]
            assert (torn.read_bytes() if torn.exists() else b"") == fragment + b"\n" * bool(fragment)

    asyncio.run(every_offset())


def test_a_run_killed_at_any_moment_has_each_sample_exactly_once_when_resumed(tmp_path: Path) -> None:
    """SIGKILL a real process again and again; what it acknowledged stays, the rest is asked once."""
    generator = random.Random(20260826)  # noqa: S311
    acknowledged: list[str] = []
    for turn in range(12):
        with child(tmp_path, *(["resume"] if turn else [])) as (process, told):
            acknowledged += [told.readline().strip() for _ in range(generator.randrange(1, 24))]
            process.kill()
            acknowledged += told.read().split()
    killed = runs.manifest(tmp_path / "r.jsonl")
    assert killed
    assert killed.state == "running"
    with child(tmp_path, "resume") as (process, told):
        acknowledged += told.read().split()
        assert process.wait() == 0
    counts = Counter(record.key for record in on_file(tmp_path))
    assert counts == dict.fromkeys(map(str, range(300)), 1)
    assert Counter(acknowledged) <= counts
    assert len(acknowledged) > 100
    assert {path.name for path in tmp_path.iterdir()} <= {"r.jsonl", "r.meta.json", "r.torn"}


def test_two_writers_of_one_run_are_kept_apart(tmp_path: Path) -> None:
    with child(tmp_path) as (process, told):
        told.readline()
        process.send_signal(signal.SIGSTOP)
        for resume in (False, True):
            with pytest.raises(Locked, match=f"process {process.pid} is writing") as caught:
                go(tmp_path, Asked(), resume=resume)
            assert caught.value.exit_code == 75
    with child(tmp_path, "resume") as (process, told):
        told.read()
        assert process.wait() == 0
    assert len(on_file(tmp_path)) == 300


def test_a_killed_writer_leaves_lines_of_whole_json_but_the_last(tmp_path: Path) -> None:
    with child(tmp_path) as (_, told):
        for _ in range(30):
            told.readline()
    lines = (tmp_path / "r.jsonl").read_bytes().split(b"\n")
    assert len([json.loads(line) for line in lines[:-1]]) >= 30


@pytest.mark.parametrize("name", ["r.jsonl.gz", "r.jsonl"], ids=["named so", "told by its bytes"])
def test_only_plain_lines_are_added_to(tmp_path: Path, name: str) -> None:
    """A compressed run is refused by name, and its bytes stay; nor is a new run begun under its id."""
    plan = Plan(runs_dir=tmp_path, run_id="r", target="t")
    asyncio.run(run(CASES, Asked(), plan))
    raw = gzip.compress((tmp_path / "r.jsonl").read_bytes())
    (tmp_path / "r.jsonl").unlink()
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(UsageError, match="only such a file can be added to"):
        asyncio.run(run(CASES, Asked(), replace(plan, resume=True)))
    (tmp_path / "r.meta.json").unlink()
    with pytest.raises(UsageError, match="wanted a new run"):
        asyncio.run(run(CASES, Asked(), plan))
    assert [path.name for path in tmp_path.glob("r.json*")] == [name]
    assert (tmp_path / name).read_bytes() == raw
    assert len(load(tmp_path / name)) == len(CASES)
