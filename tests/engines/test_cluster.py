"""A run scored on a real scheduler by two workers, one of which is killed: the same bytes as on one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalkit.contracts import EvalRecord
from evalkit.engines.parted import LARGE
from evalkit.reading import encode

pytest.importorskip("distributed", reason="needs the extra dask")

ROOT = Path(__file__).parents[2]
BOXES = Path(__file__).parent / "boxes"
"""A file system of its own for fsspec, announced as an installed package does: its files lie under other names."""

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(BOXES)])}
TABLES = ("samples.parquet", "slices.parquet", "confusions.parquet", "latency.parquet", "summary.json")


def environment(folder: Path) -> dict[str, str]:
    return {**ENVIRONMENT, "BOXES": str(folder / "boxes")}


def started(*args: str, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / f"{args[0]}-{Path(args[-1]).name}.log").open("wb")
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", *args], env=environment(folder), cwd=folder, stdout=log, stderr=log
        )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """The address of a scheduler, and its two workers."""
    told = tmp_path / "scheduler.json"
    scheduler = started(
        "distributed.cli.dask_scheduler",
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--no-dashboard",
        "--scheduler-file",
        str(told),
        folder=tmp_path,
    )
    workers = []
    try:
        for _ in range(600):
            if told.exists():
                break
            time.sleep(0.1)
        address = json.loads(told.read_text())["address"]
        workers += [
            started(
                "distributed.cli.dask_worker",
                address,
                "--nthreads",
                "1",
                "--no-nanny",
                "--no-dashboard",
                "--name",
                name,
                folder=tmp_path,
            )
            for name in ("one", "two")
        ]
        yield address, workers
    finally:
        for process in (*workers, scheduler):
            process.kill()
            process.wait()


def run(path: Path) -> Path:
    """A run of 300 records, of which some cases are tried twice."""
    rows = [
        EvalRecord(
            sample_id=f"c{number % 250}",
            repeat=number // 250,
            query="能退吗？",
            intent_l1="A",
            intent_l2=f"A{number % 5}",
            intent_pred=f"A{number % 7}",
            response="可以退。",
            ttft_ms=100.0 + number,
        )
        for number in range(300)
    ]
    path.write_bytes(b"".join(map(encode, rows)))
    return path


def score(path: Path, *options: str, reports: Path) -> subprocess.Popen[bytes]:
    command = ["evalkit", "score", str(path), "--reports-dir", str(reports), "--json", *options]
    return subprocess.Popen(
        [sys.executable, "-m", *command],
        env=environment(path.parent),
        cwd=path.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


def scored(path: Path, *options: str) -> dict[str, bytes]:
    """The files of a run, by options."""
    reports = path.parent / "-".join(option.strip("-").replace("/", "") for option in ("by", *options))
    with score(path, *options, reports=reports) as asked:
        assert asked.wait() == 0, asked.stderr.read()
    return files(reports)


def files(reports: Path) -> dict[str, bytes]:
    return {name: (reports / "run" / name).read_bytes() for name in TABLES}


@pytest.mark.parametrize("scratch", [None, "file://{folder}/scratch", "boxes://bucket/of/mine/"])
def test_a_worker_killed_in_the_middle_changes_no_byte(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path, scratch: str | None
) -> None:
    address, workers = cluster
    path = run(tmp_path / "run.jsonl")
    asked = ["--engine", "dask", "--scheduler", address, "--part-rows", "4"]
    asked += ["--scratch", scratch.format(folder=tmp_path)] if scratch else []
    with score(path, *asked, reports=tmp_path / "there") as there:
        told = [there.stderr.readline().decode() for _ in range(10)]
        workers[0].send_signal(signal.SIGKILL)
        rest = there.stderr.read().decode()
        assert there.wait() == 0, rest
    assert "of 75 parts" in told[-1]
    assert "75 of 75 parts" in rest
    assert files(tmp_path / "there") == scored(path, "--engine", "memory")
    left = [place for name in ("there", "scratch", "boxes") for place in (tmp_path / name).glob("*parts*")]
    assert not left
    if scratch and scratch.startswith("boxes"):
        assert (tmp_path / "boxes" / "puts").stat().st_size >= 75


@pytest.mark.parametrize("engine", [("stream", "--workers", "2"), ("dask",)])
def test_all_that_can_be_asked_is_the_same_by_all_engines(tmp_path: Path, engine: tuple[str, ...]) -> None:
    path = run(tmp_path / "run.jsonl")
    (tmp_path / "mine.csv").write_text("sample_id,repeat,intent_top1_manual\nc3,0,1\nc4,1,null\n")
    asked = ("--cluster", "intent_l2", "--manual", "mine.csv", "--by", "repeat,intent_l1")
    wanted = scored(path, *asked, "--engine", "memory")
    assert scored(path, *asked, "--part-rows", "40", "--engine", *engine) == wanted
    assert json.loads(wanted["summary.json"])["fix_first"]


def test_large_runs_are_taken_apart_unless_a_metric_is_your_own(tmp_path: Path) -> None:
    """A folder for the parts is made where there are parts."""
    path = run(tmp_path / "run.jsonl")
    scored(path, "--scratch", "small")
    assert not (tmp_path / "small").exists()
    rows = [EvalRecord(sample_id=f"long-{n}", response="可以退。" * (LARGE // 36)) for n in range(3)]
    path.write_bytes(path.read_bytes() + b"".join(map(encode, rows)))
    wanted = scored(path, "--engine", "memory")
    assert scored(path, "--scratch", "large") == wanted
    assert (tmp_path / "large").is_dir()
    (tmp_path / "evalkit.toml").write_text('[metrics."mine:own"]\n')
    (tmp_path / "mine.py").write_text("def own(records):\n    return []\n")
    assert scored(path, "--scratch", "own") == wanted
    assert not (tmp_path / "own").exists()


def test_a_scheduler_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    with score(path, "--engine", "dask", "--scheduler", "tcp:/nowhere", reports=tmp_path) as asked:
        said = asked.stderr.read().decode()
        assert asked.wait() == 2
    assert "--scheduler tcp:/nowhere" in said


@pytest.mark.parametrize(
    "options", [("--engine", "stream"), ("--engine", "stream", "--workers", "2"), ("--engine", "dask")]
)
def test_a_part_that_fails_is_named_by_its_lines(tmp_path: Path, options: tuple[str, ...]) -> None:
    run(tmp_path / "run.jsonl")
    (tmp_path / "evalkit.toml").write_text('[metrics."mine:picky"]\n')
    (tmp_path / "mine.py").write_text(
        "from evalkit import MetricResult, slice_mean\n\n\ndef picky(records):\n"
        "    def score(record):\n        return 1 / (record.ttft_ms - 205)\n\n"
        "    return MetricResult('picky', *slice_mean(records, score))\n"
    )
    command = [sys.executable, "-m", "evalkit", "score", "run.jsonl", "--part-rows", "50", "--json", *options]
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    asked = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert asked.returncode == 3, asked.stderr
    assert "run.jsonl, lines 101 to 150: found ZeroDivisionError" in asked.stderr
    assert "Traceback" not in asked.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--engine", "memory", "--workers", "2"), "--workers: found with --engine memory"),
        (("--engine", "memory", "--scratch", "s"), "--scratch: found with --engine memory"),
        (("--scheduler", "tcp://x:1"), "--scheduler: found with --engine auto"),
        (
            ("--engine", "dask", "--workers", "2", "--scheduler", "tcp://x:1"),
            "--workers: found with --scheduler",
        ),
        (("--engine", "stream", "--scratch", "nowhere://x"), "--scratch nowhere://x"),
        (("--engine", "stream", "--scratch", "boxes://bucket/refused"), "boxes://bucket/refused"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    path = run(tmp_path / "run.jsonl")
    with score(path, *options, reports=tmp_path / "reports") as asked:
        said = asked.stderr.read().decode()
        assert asked.wait() == (74 if "refused" in options[-1] else 2), said
    assert told in said
    assert "Traceback" not in said
    assert not (tmp_path / "reports" / "run").exists()


def test_without_the_extra_a_url_is_told_how_to_get_it(tmp_path: Path) -> None:
    run(tmp_path / "run.jsonl")
    code = (
        "import sys; sys.modules['fsspec'] = None; from evalkit.cli import main; "
        "sys.argv = ['evalkit', 'score', 'run.jsonl', '--engine', 'stream', '--scratch', 's3://a/b']; main()"
    )
    asked = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 2, asked.stderr
    assert "pip install 'evalkit[dask]'" in asked.stderr
