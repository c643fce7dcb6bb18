"""A run of real targets: what is asked when, and what is on file afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import math
import os
import resource
import stat
import threading
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalkit import runs
from evalkit.contracts import Case, ChannelError, EvalRecord, Manifest, Observation, Timings, ToolCall
from evalkit.errors import NoInput, StorageError, UsageError
from evalkit.kinds import Ask
from evalkit.reading import read
from evalkit.records import load
from evalkit.runner import Plan, run

LINE_ENDS = "一\u2028二\u2029三\x85四\x1c五\r\n六"


def cases(count: int) -> list[Case]:
    return [Case(sample_id=f"c{n:03}", query=f"第{n}个问题", intent_l1="support") for n in range(count)]


async def echo(case: Case) -> Observation:
    return Observation(response=case.query, retrieved_doc_ids=("D1",))


def go(whom: Any, folder: Path, *, count: int = 5, **settings: Any) -> tuple[Manifest, list[EvalRecord]]:
    """Run `count` cases; the manifest and the records on file."""
    manifest = asyncio.run(run(cases(count), whom, Plan(runs_dir=folder, **settings)))
    return manifest, records(folder, manifest.run_id)


def records(folder: Path, run_id: str) -> list[EvalRecord]:
    reading = read(folder / f"{run_id}.jsonl", EvalRecord)
    assert not reading.faults
    return reading.items


def keys(rows: Sequence[EvalRecord]) -> list[str]:
    return [row.key for row in rows]


def test_every_case_becomes_one_record(tmp_path: Path) -> None:
    manifest, rows = go(echo, tmp_path, run_id="r")
    assert sorted(keys(rows)) == [case.sample_id for case in cases(5)]
    assert {row.response for row in rows} == {case.query for case in cases(5)}
    assert {(row.run_id, row.repeat, row.intent_l1) for row in rows} == {("r", 0, "support")}
    assert all(row.started_at for row in rows)
    assert (manifest.cases, manifest.planned, manifest.recorded) == (5, 5, 5)
    assert (manifest.answer_ok, manifest.evidence_ok, manifest.state) == (5, 5, "complete")


def test_the_manifest_on_file_is_the_one_returned(tmp_path: Path) -> None:
    manifest, _ = go(echo, tmp_path, target="demo", target_config={"pace": 0}, selection={"limit": 5})
    found = runs.manifest(tmp_path / f"{manifest.run_id}.jsonl")
    assert found == manifest
    assert found.target == "demo"
    assert found.finished_at
    assert found.finished_at >= found.started_at
    assert found.settings == {
        "repeat": 1,
        "concurrency": 8,
        "rate": None,
        "adaptive": False,
        "capture": False,
        "durability": "process",
        "warmup": 0,
    }


def test_a_run_leaves_two_private_files_in_a_private_folder(tmp_path: Path) -> None:
    go(echo, tmp_path / "runs", run_id="r")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "runs").iterdir()}
    assert modes == {"r.jsonl": 0o600, "r.meta.json": 0o600}
    assert stat.S_IMODE((tmp_path / "runs").stat().st_mode) == 0o700


def test_the_manifest_says_running_while_the_run_runs(tmp_path: Path) -> None:
    states = []

    async def ask(case: Case) -> Observation:
        now = runs.manifest(tmp_path / "r.jsonl")
        states.append(now.state if now else None)
        return Observation()

    go(ask, tmp_path, run_id="r")
    assert states == ["running"] * 5


# Targets of every shape


def echo_two(case: Case, other: Case) -> Observation:
    return Observation(response=case.query + other.query)


class Service:
    """A target that keeps count of how often it is opened and closed."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextlib.asynccontextmanager
    async def bound(self, *, name: str) -> AsyncIterator[Ask]:
        self.log.append(f"open {name}")
        try:
            yield self.ask
        finally:
            self.log.append("close")

    async def ask(self, case: Case) -> Observation:
        return await echo(case)

    async def __call__(self, case: Case) -> Observation:
        return await echo(case)


def plain(case: Case) -> Observation:
    return Observation(response=case.query, retrieved_doc_ids=("D1",))


async def with_parameter(case: Case, *, prefix: str) -> Observation:
    return await echo(case)


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(echo, id="async function"),
        pytest.param(Service().ask, id="bound method"),
        pytest.param(Service(), id="object"),
        pytest.param(functools.partial(with_parameter, prefix="p"), id="partial"),
        pytest.param(
            functools.partial(
                Service(),
            ),
            id="partial of an object",
        ),
        pytest.param(plain, id="plain function"),
        pytest.param(lambda case: echo(case), id="lambda that makes a coroutine"),  # noqa: PLW0108
        pytest.param(functools.partial(Service().bound, name="x"), id="bound target"),
    ],
)
def test_a_target_is_any_function_of_a_case(target: Any, tmp_path: Path) -> None:
    manifest, rows = go(target, tmp_path)
    assert manifest.answer_ok == 5
    assert {row.response for row in rows} == {case.query for case in cases(5)}


def test_a_bound_target_is_opened_once_and_closed(tmp_path: Path) -> None:
    service = Service()
    go(functools.partial(service.bound, name="x"), tmp_path, repeat=2)
    assert service.log == ["open x", "close"]


@pytest.mark.parametrize(
    "target", [None, 7, echo_two, lambda: None], ids=["nothing", "a number", "of two", "of none"]
)
def test_what_is_no_target_is_refused_before_anything_is_written(target: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="wanted a function of one case"):
        go(target, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_target_that_does_not_open_leaves_no_run(tmp_path: Path) -> None:
    @contextlib.asynccontextmanager
    async def shut() -> AsyncIterator[Ask]:
        raise UsageError("login refused")
        yield echo

    with pytest.raises(UsageError, match="login refused"):
        go(shut, tmp_path, run_id="r")
    assert not list(tmp_path.iterdir())


def test_plain_functions_are_asked_side_by_side(tmp_path: Path) -> None:
    """All eight must be inside at once, or the barrier breaks."""
    barrier = threading.Barrier(8, timeout=10)

    def ask(case: Case) -> Observation:
        barrier.wait()
        return Observation(response=case.query)

    manifest, _ = go(ask, tmp_path, count=16, concurrency=8)
    assert manifest.answer_ok == 16


# One broken sample


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_one_exception_in_many_is_that_samples_record_alone(kind: str, tmp_path: Path) -> None:
    def ask(case: Case) -> Observation:
        if case.sample_id == "c013":
            raise ZeroDivisionError("坏了")
        return Observation(response="好", retrieved_doc_ids=())

    async def ask_async(case: Case) -> Observation:
        return ask(case)

    manifest, rows = go(ask if kind == "plain" else ask_async, tmp_path, count=100)
    (bad,) = [row for row in rows if row.answer_status != "ok"]
    assert bad.sample_id == "c013"
    assert bad.answer_error == ChannelError(kind="target_error", message="ZeroDivisionError: 坏了")
    assert (bad.answer_status, bad.evidence_status, bad.response) == ("error", "skipped", None)
    assert bad.evidence_error is None
    assert (manifest.state, manifest.recorded, manifest.answer_ok) == ("complete", 100, 99)


@pytest.mark.parametrize(
    "error",
    [SystemExit(0), GeneratorExit(), StopIteration(), KeyError("x")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_plain_function_raises_is_the_error_of_that_sample(
    error: BaseException, tmp_path: Path
) -> None:
    def ask(case: Case) -> Observation:
        if case.sample_id == "c001":
            raise error
        return Observation(response="好")

    manifest, rows = go(ask, tmp_path, count=3)
    assert (manifest.state, manifest.recorded, manifest.answer_ok) == ("complete", 3, 2)
    assert {row.sample_id for row in rows if row.answer_status == "error"} == {"c001"}


@pytest.mark.parametrize("error", [SystemExit(0), OSError("no socket")], ids=["exit", "error"])
def test_a_target_that_breaks_while_it_is_opened_is_a_usage_error(
    error: BaseException, tmp_path: Path
) -> None:
    @contextlib.asynccontextmanager
    async def broken() -> AsyncIterator[Any]:
        raise error
        yield

    with pytest.raises(UsageError, match=f"opening it raised {type(error).__name__}"):
        go(broken, tmp_path, count=1)
    assert list(tmp_path.glob("*.jsonl")) == []


def nested(depth: int) -> Any:
    return functools.reduce(lambda inner, _: [inner], range(depth), 1)


class Alien(Exception):
    def __str__(self) -> str:
        return "\ud800 lone surrogate"


class Mute(Exception):
    def __str__(self) -> str:
        raise SystemExit(0)


class Bare(BaseException):
    pass


def raising(error: BaseException) -> Any:
    async def ask(case: Case) -> Observation:
        raise error

    return ask


def answering(make: Any) -> Any:
    async def ask(case: Case) -> Observation:
        result: Observation = make()
        return result

    return ask


def calls(argument: Any) -> Any:
    return lambda: Observation(tool_calls=(ToolCall.model_construct(name="t", arguments={"x": argument}),))


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        pytest.param(answering(lambda: None), "TypeError: found a NoneType", id="nothing returned"),
        pytest.param(answering(lambda: {"response": "x"}), "found a dict", id="a dict returned"),
        pytest.param(answering(calls(math.nan)), "should be a finite number", id="not a number"),
        pytest.param(answering(calls(nested(5000))), "Error", id="nested without end"),
        pytest.param(answering(calls({1, 2})), "Error", id="no JSON value"),
        pytest.param(
            answering(lambda: Observation(response="x" * (17 * 2**20))),
            "found a line of 17,",
            id="a line too long",
        ),
        pytest.param(raising(TimeoutError()), "TimeoutError: ", id="a timeout"),
        pytest.param(raising(UsageError("bad prompt")), "UsageError: bad prompt", id="an error of ours"),
        pytest.param(raising(asyncio.CancelledError()), "CancelledError", id="a cancellation of its own"),
        pytest.param(raising(Alien()), "Alien: ", id="a message that is no text"),
        pytest.param(raising(Mute()), "Mute: its text cannot be read", id="a message that raises"),
        pytest.param(raising(SystemExit(0)), "SystemExit: 0", id="the end of the process"),
        pytest.param(raising(GeneratorExit()), "GeneratorExit: ", id="the end of a generator"),
        pytest.param(raising(Bare()), "Bare: ", id="no Exception at all"),
        pytest.param(raising(ValueError("x" * 10_000)), "ValueError: xxx", id="a message without end"),
    ],
)
def test_a_broken_observation_never_breaks_the_file(ask: Any, told: str, tmp_path: Path) -> None:
    async def mixed(case: Case) -> Observation:
        result: Observation = await (ask if case.sample_id == "c001" else echo)(case)
        return result

    manifest, _ = go(mixed, tmp_path, count=3)
    rows = load(tmp_path / f"{manifest.run_id}.jsonl")
    bad = next(row for row in rows if row.sample_id == "c001")
    assert (bad.answer_status, bad.evidence_status) == ("error", "skipped")
    assert bad.answer_error
    assert bad.answer_error.kind == "target_error"
    assert told in bad.answer_error.message
    assert len(bad.answer_error.message) <= 2000
    assert (manifest.recorded, manifest.answer_ok) == (3, 2)


@pytest.mark.parametrize(
    "argument",
    [
        pytest.param(2**60, id="an integer past 2^53"),
        pytest.param(nested(100), id="nested too deep"),
        pytest.param("\ud800", id="a lone surrogate"),
    ],
)
def test_what_json_readers_refuse_is_no_error_and_can_be_read(argument: Any, tmp_path: Path) -> None:
    manifest, _ = go(answering(calls(argument)), tmp_path, count=3)
    rows = load(tmp_path / f"{manifest.run_id}.jsonl")
    assert [row.tool_calls[0].name for row in rows if row.tool_calls] == ["t", "t", "t"]
    assert manifest.answer_ok == 3


def test_an_observation_cannot_change_whose_it_is(tmp_path: Path) -> None:
    async def ask(case: Case) -> Observation:
        return EvalRecord(
            sample_id="other", query="other", intent_l1="other", response="r", run_id="x", repeat=7
        )

    _, rows = go(ask, tmp_path, run_id="r")
    assert [(row.query, row.intent_l1, row.response, row.run_id, row.repeat) for row in rows][:1] == [
        ("第0个问题", "support", "r", "r", 0)
    ]


def test_a_case_made_of_an_old_record_brings_nothing_observed_along(tmp_path: Path) -> None:
    old = {"sample_id": "1", "response": "old", "retrieved_doc_ids_raw": ["OLD"], "store": "上海"}
    manifest = asyncio.run(
        run(
            [Case.model_validate(old)],
            answering(lambda: Observation(thinking="new")),
            Plan(runs_dir=tmp_path),
        )
    )
    (row,) = records(tmp_path, manifest.run_id)
    assert (row.response, row.retrieved_doc_ids, row.thinking) == (None, None, "new")
    assert row.model_extra == {"store": "上海"}


def test_a_channel_of_which_a_target_says_nothing_was_never_asked(tmp_path: Path) -> None:
    manifest, rows = go(answering(lambda: Observation(response="好")), tmp_path, count=1)
    assert (rows[0].answer_status, rows[0].evidence_status) == ("ok", "skipped")
    assert (manifest.answer_ok, manifest.evidence_ok) == (1, 0)


def test_the_case_keeps_its_labels_and_what_nobody_knows(tmp_path: Path) -> None:
    case = Case.model_validate(
        {
            "query_id": "q1",
            "messages": ["你好", "我要退货"],
            "expected_doc_ids": ["D1"],
            "required_slots": [{"name": "order_id", "type": "order_id"}],
            "required_steps": [{"name": "verify", "tool": "find_order"}],
            "expected_tools": [{"tool": "find_order", "args": {"id": "1"}}],
            "rules": [{"type": "keyword_match", "params": {"keywords": ["退货"]}}],
            "expectation": "办理退货",
            "store": {"城市": "上海"},
        }
    )
    manifest = asyncio.run(run([case], echo, Plan(runs_dir=tmp_path)))
    (row,) = records(tmp_path, manifest.run_id)
    own = set(Case.model_fields)
    assert row.model_dump(include=own) == case.model_dump(include=own)
    assert row.model_extra == {"store": {"城市": "上海"}}


def test_odd_line_ends_stay_in_one_line(tmp_path: Path) -> None:
    manifest, rows = go(answering(lambda: Observation(response=LINE_ENDS)), tmp_path, count=2)
    raw = (tmp_path / f"{manifest.run_id}.jsonl").read_bytes()
    assert raw.count(b"\n") == len(raw.splitlines()) == len(raw.decode("utf-8").splitlines()) == 2
    assert {row.response for row in rows} == {LINE_ENDS}


def test_records_on_file_equal_those_that_were_told(tmp_path: Path) -> None:
    told: list[EvalRecord] = []
    manifest = asyncio.run(run(cases(20), echo, Plan(runs_dir=tmp_path), on_record=told.append))
    assert records(tmp_path, manifest.run_id) == told


def test_a_record_is_on_file_before_it_is_told(tmp_path: Path) -> None:
    def check(record: EvalRecord) -> None:
        last = (tmp_path / "r.jsonl").read_bytes().splitlines()[-1]
        assert json.loads(last)["sample_id"] == record.sample_id

    asyncio.run(run(cases(20), echo, Plan(runs_dir=tmp_path, run_id="r"), on_record=check))


def test_the_start_is_told_with_the_counts(tmp_path: Path) -> None:
    told: list[Manifest] = []
    asyncio.run(run(cases(4), echo, Plan(runs_dir=tmp_path, repeat=3), on_start=told.append))
    assert [(start.planned, start.recorded, start.state) for start in told] == [(12, 0, "running")]


# When samples are asked


class Gauge:
    """A target that measures how it is asked: when, in what order, how many at once."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.order: list[str] = []
        self.starts: list[float] = []
        self.now = self.most = 0

    async def ask(self, case: Case) -> Observation:
        self.order.append(case.sample_id)
        self.starts.append(time.monotonic())
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(self.seconds)
        self.now -= 1
        return Observation(response="好")


@pytest.mark.parametrize("concurrency", [1, 3, 8])
def test_concurrency_is_reached_and_never_passed(concurrency: int, tmp_path: Path) -> None:
    gauge = Gauge(0.08)
    go(gauge.ask, tmp_path, count=24, concurrency=concurrency)
    assert gauge.most == concurrency


def test_cases_start_in_their_order(tmp_path: Path) -> None:
    gauge = Gauge(0.001)
    go(gauge.ask, tmp_path, count=60, concurrency=7)
    assert gauge.order == [case.sample_id for case in cases(60)]


def test_records_stand_in_the_order_in_which_they_ended(tmp_path: Path) -> None:
    async def ask(case: Case) -> Observation:
        await asyncio.sleep(0.3 if case.sample_id == "c000" else 0)
        return Observation()

    _, rows = go(ask, tmp_path, count=5, concurrency=2)
    assert keys(rows)[-1] == "c000"


def test_first_starts_are_staggered(tmp_path: Path) -> None:
    gauge = Gauge(0.2)
    go(gauge.ask, tmp_path, count=5, concurrency=5)
    assert gauge.starts[-1] - gauge.starts[0] >= 0.015


def test_the_manifest_counts_the_eval_set_and_not_the_selection(tmp_path: Path) -> None:
    manifest, _ = go(echo, tmp_path, count=3, repeat=2, eval_set_cases=200)
    assert (manifest.cases, manifest.planned) == (200, 6)


def test_repeat_asks_all_cases_once_and_then_all_again(tmp_path: Path) -> None:
    gauge = Gauge()
    manifest, rows = go(gauge.ask, tmp_path, count=3, repeat=3, concurrency=1)
    assert gauge.order == ["c000", "c001", "c002"] * 3
    assert keys(rows)[2:5] == ["c002", "c000#1", "c001#1"]
    assert [row.repeat for row in rows] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert (manifest.cases, manifest.planned, manifest.recorded) == (3, 9, 9)


def test_a_rate_spaces_the_starts_whatever_the_others_do(tmp_path: Path) -> None:
    gauge = Gauge(0.2)
    _, rows = go(gauge.ask, tmp_path, count=12, concurrency=12, rate=40)
    lags = {row.key: row.answer_timings.queue_ms for row in rows if row.answer_timings}
    due = [start - (lags[key] or 0) / 1000 for key, start in zip(gauge.order, gauge.starts, strict=True)]
    assert [when - due[0] for when in due] == pytest.approx([n / 40 for n in range(12)], abs=0.04)
    assert all(lag is not None and lag >= 0 for lag in lags.values())
    assert gauge.most > 4


def test_waiting_for_a_turn_under_a_rate_is_told(tmp_path: Path) -> None:
    """One at a time and 0.1 s each, due every 10 ms: the n-th starts 0.09 n s late."""
    _, rows = go(Gauge(0.1).ask, tmp_path, count=5, concurrency=1, rate=100)
    lags = [row.answer_timings.queue_ms for row in rows if row.answer_timings]
    assert len(lags) == 5
    assert all(lag is not None and lag >= 85 * n for n, lag in enumerate(lags))


def test_waiting_for_a_turn_adds_to_what_the_target_waited(tmp_path: Path) -> None:
    seen = Observation(answer_timings=Timings(queue_ms=1000.0, end_ms=5.0))
    _, rows = go(answering(lambda: seen), tmp_path, count=1, rate=100)
    assert rows[0].answer_timings
    assert rows[0].answer_timings.queue_ms
    assert 1000 <= rows[0].answer_timings.queue_ms < 1500
    assert rows[0].answer_timings.end_ms == 5.0


def test_without_a_rate_nothing_is_said_of_waiting(tmp_path: Path) -> None:
    _, rows = go(echo, tmp_path)
    assert {row.answer_timings for row in rows} == {None}


# What is refused


def test_a_run_that_exists_is_refused_and_kept(tmp_path: Path) -> None:
    go(echo, tmp_path, run_id="r")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UsageError, match="use --resume to go on with it, or another --run-id"):
        go(echo, tmp_path, run_id="r")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_link_in_the_place_of_a_run_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "r.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="wanted a new run"):
        go(echo, tmp_path, run_id="r")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("run_id", ["../x", "a/../../b", "a b", "", "x" * 300, "-x"])
def test_an_id_that_would_leave_the_folder_is_refused(run_id: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="run id"):
        go(echo, tmp_path / "runs", run_id=run_id)
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"concurrency": 0}, "concurrency: found 0, wanted at least 1"),
        ({"repeat": 0}, "repeat: found 0"),
        ({"rate": 0}, "rate: found 0"),
        ({"rate": math.nan}, "rate: found nan"),
        ({"rate": math.inf}, "rate: found inf"),
        ({"grace_s": -1}, "grace_s: found -1"),
        ({"resume": True}, "wanted the id of the run to resume"),
    ],
    ids=str,
)
def test_a_plan_that_cannot_be_is_refused(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Plan(**settings)


def test_no_case_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput):
        go(echo, tmp_path, count=0)
    assert not list(tmp_path.iterdir())


def test_an_id_like_a_repeat_is_another_sample(tmp_path: Path) -> None:
    cases = [Case(sample_id=name, query="q") for name in ("a", "a#1")]
    manifest = asyncio.run(run(cases, echo, Plan(runs_dir=tmp_path, repeat=2)))
    assert (manifest.planned, manifest.recorded, manifest.state) == (4, 4, "complete")
    assert set(load(runs.latest(tmp_path)).keys) == {"a", "a#1", "a#1#0", "a#1#1"}


def test_two_samples_of_one_key_are_refused(tmp_path: Path) -> None:
    twice = [Case(sample_id="a", query="q") for _ in range(2)]
    with pytest.raises(UsageError, match="twice, wanted each once"):
        asyncio.run(run(twice, echo, Plan(runs_dir=tmp_path, repeat=2)))


def test_more_connections_than_descriptors_are_refused_first(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
    try:
        with pytest.raises(UsageError, match=r"concurrency 200: found a limit of 128 open files.*ulimit -n"):
            go(echo, tmp_path / "runs", concurrency=200)
        go(echo, tmp_path / "runs", concurrency=8)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_full_disk_ends_the_run_and_keeps_the_lines_before(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    told: list[str] = []
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(StorageError) as caught:
            asyncio.run(
                run(
                    cases(100),
                    echo,
                    Plan(runs_dir=tmp_path, run_id="r"),
                    on_record=lambda record: told.append(record.key),
                )
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.exit_code == 74
    assert 0 < len(told) < 100
    assert keys(records(tmp_path, "r")) == told
    assert (tmp_path / "r.jsonl").read_bytes().endswith(b"}\n")
    found = runs.manifest(tmp_path / "r.jsonl")
    assert found
    assert (found.state, found.recorded) == ("interrupted", len(told))


def test_a_disk_that_refuses_to_sync_never_says_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system call fails once for the records: nothing is tried again as if it were well."""
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".jsonl":
            raise OSError(5, "Input/output error")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(StorageError, match="Input/output error"):
        go(echo, tmp_path, run_id="r")
    found = runs.manifest(tmp_path / "r.jsonl")
    assert found
    assert found.state == "interrupted"


def test_cancelling_the_run_itself_leaves_an_interrupted_one(tmp_path: Path) -> None:
    async def slow(case: Case) -> Observation:
        await asyncio.sleep(0 if case.sample_id < "c003" else 60)
        return Observation()

    async def cancelled() -> None:
        task = asyncio.create_task(run(cases(10), slow, Plan(runs_dir=tmp_path, run_id="r", concurrency=2)))
        await asyncio.sleep(0.3)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(cancelled())
    found = runs.manifest(tmp_path / "r.jsonl")
    assert found
    assert (found.state, found.recorded) == ("interrupted", 3)
    assert keys(records(tmp_path, "r")) == ["c000", "c001", "c002"]


def test_a_run_works_beside_the_main_thread(tmp_path: Path) -> None:
    done: list[Manifest] = []
    thread = threading.Thread(target=lambda: done.append(go(echo, tmp_path)[0]))
    thread.start()
    thread.join()
    assert [manifest.state for manifest in done] == ["complete"]
