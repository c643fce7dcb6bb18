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
from evalkit.reading import encode

pytest.importorskip("distributed", reason="needs the extra dask")

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
TABLES = ("samples.parquet", "slices.parquet", "confusions.parquet", "latency.parquet", "summary.json")


def started(*args: str, folder: Path) -> subprocess.Popen[bytes]:
    log = (folder / f"{args[0]}-{Path(args[-1]).name}.log").open("wb")
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", *args], env=ENVIRONMENT, cwd=folder, stdout=log, stderr=log
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
        [sys.executable, "-m", *command], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def files(reports: Path) -> dict[str, bytes]:
    return {name: (reports / "run" / name).read_bytes() for name in TABLES}


def test_a_worker_killed_in_the_middle_changes_no_byte(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], tmp_path: Path
) -> None:
    address, workers = cluster
    path = run(tmp_path / "run.jsonl")
    with score(path, "--engine", "stream", reports=tmp_path / "here") as alone:
        assert alone.wait() == 0, alone.stderr.read()
    with score(
        path, "--engine", "dask", "--scheduler", address, "--part-rows", "4", reports=tmp_path / "there"
    ) as there:
        told = [there.stderr.readline().decode() for _ in range(10)]
        workers[0].send_signal(signal.SIGKILL)
        rest = there.stderr.read().decode()
        assert there.wait() == 0, rest
    assert "of 75 parts" in told[-1]
    assert "75 of 75 parts" in rest
    assert files(tmp_path / "there") == files(tmp_path / "here")


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


@pytest.mark.parametrize("engine", ["stream", "dask"])
@pytest.mark.parametrize("option", ["--cluster", "--manual"])
def test_what_takes_all_samples_at_once_is_refused(tmp_path: Path, engine: str, option: str) -> None:
    path = run(tmp_path / "run.jsonl")
    with score(path, "--engine", engine, option, "tags", reports=tmp_path / "reports") as asked:
        said = asked.stderr.read().decode()
        assert asked.wait() == 2
    assert f"{option}: found with --engine {engine}" in said
    assert not (tmp_path / "reports").exists()
