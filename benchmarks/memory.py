"""Peak memory, time and CPU of `evalkit score` part by part as runs grow; and workers of dask against our own.

    python benchmarks/memory.py [--workers 2] [--engine stream] [--part-rows 4096] [records …]
    python benchmarks/memory.py --against-dask [--rounds 3] [records …]

Runs of 1.5 KB a record are generated on the fly and deleted after. Memory is what all processes hold together:
pages that they share are counted once (PSS), pages of files count as well. Against dask the same run is measured
by turns: by so many processes of ours, and by as many workers of a scheduler that is there already, each with one
thread and warm; the columns are kept beside the run by then.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

EVERY = 0.2
BYTES = 6_000
"""Disk that a record may take: its line, its columns, its samples on their way."""

WARM = 5_000
"""Records of the run that workers of dask measure before it counts: they load their packages meanwhile."""


def generate(path: Path, n: int) -> None:
    """Write a run of `n` records: ten retrieved documents, one to three gold ones, thirty intents."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    intents = [f"S{number}_意图{number}" for number in range(30)]
    documents = [f"POLICY_{number:04d}" for number in range(2_000)]
    query, answer = "买了两周的耳机还能退吗？" * 5, "支持七天无理由退货，超过七天需要检测。" * 15
    with path.open("w", encoding="utf-8") as file:
        for number in range(n):
            gold = rng.choice(intents)
            retrieved = rng.sample(documents, 10)
            wanted = [
                rng.choice(retrieved if rng.random() < 0.6 else documents) for _ in range(rng.randint(1, 3))
            ]
            line = {
                "sample_id": f"case-{number:08d}",
                "query": query,
                "intent_l1": f"G{gold[1:2]}",
                "intent_l2": gold,
                "requires_rag": True,
                "reference_doc_ids": list(dict.fromkeys(wanted)),
                "response": answer,
                "intent_pred": gold if rng.random() < 0.8 else rng.choice(intents),
                "retrieved_doc_ids": retrieved,
                "ttft_ms": round(rng.uniform(40, 400), 2),
                "total_ms": round(rng.uniform(400, 4_000), 2),
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


class Watched(NamedTuple):
    """A command: wall and CPU seconds, the latter of all processes that it started, and the peak memory in MiB of all together, pages
    that they share once and each time.
    """

    seconds: float
    cpu: float
    shared: float
    resident: float


def watched(command: list[str], folder: Path) -> Watched:
    """Run a command, and watch the memory of all its processes."""
    start, before, shared, resident = time.perf_counter(), used(), 0, 0
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
    while process.poll() is None:
        pss, rss = memory(process.pid)
        shared, resident = max(shared, pss), max(resident, rss)
        time.sleep(EVERY)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return Watched(time.perf_counter() - start, used() - before, shared / 2**20, resident / 2**20)


def used() -> float:
    """CPU seconds of the processes that ended."""
    told = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told.ru_utime + told.ru_stime


def memory(pid: int) -> tuple[int, int]:
    """PSS and RSS of a process and all its children, in bytes."""
    pss = rss = 0
    try:
        for process in (root := psutil.Process(pid), *root.children(recursive=True)):
            found = process.memory_full_info()
            pss, rss = pss + found.pss, rss + found.rss
    except psutil.Error:  # one has just ended
        pass
    return pss, rss


@contextlib.contextmanager
def run_of(n: int) -> Iterator[Path]:
    """A folder with a run of so many records."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
        free = shutil.disk_usage(name).free
        assert free > BYTES * n, f"{n:,} records need {BYTES * n:,} bytes of disk, {free:,} are free"
        generate(Path(name) / "run.jsonl", n)
        yield Path(name)


def score(*options: str) -> list[str]:
    """The command that scores the run of a folder."""
    return [sys.executable, "-m", "evalkit", "score", "run.jsonl", "--json", *options]


def sizes(told: argparse.Namespace) -> None:
    """Print one row a size, from lines and from columns."""
    print(
        "| records | run MB | reading | seconds | CPU s | CPU µs a record | peak MiB, shared once | peak MiB, summed | load |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    options = ["--engine", told.engine, "--workers", str(told.workers), "--part-rows", str(told.part_rows)]
    for n in told.records or [10_000, 100_000, 1_000_000]:
        with run_of(n) as folder:
            size = (folder / "run.jsonl").stat().st_size / 1e6
            for reading in ("lines", "columns"):
                seconds, cpu, shared, resident = watched(score(*options), folder)
                print(
                    f"| {n:,} | {size:,.0f} | {reading} | {seconds:.1f} | {cpu:.1f} | {1e6 * cpu / n:.0f} "
                    f"| {shared:.0f} | {resident:.0f} | {os.getloadavg()[0]:.1f} |",
                    flush=True,
                )


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers of one thread each."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        file = Path(name) / "scheduler.json"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        run = [sys.executable, "-m"]
        asked = ["distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]
        commands = [[*run, *asked, "--scheduler-file", str(file)]]
        worker = ["distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "1"]
        commands += [[*run, *worker, "--no-dashboard", "--memory-limit", "0"]] * workers
        for command in commands:
            process = stack.enter_context(subprocess.Popen(command, **quiet))  # type: ignore[call-overload]  # noqa: S603
            stack.callback(process.terminate)
            while not file.exists():
                time.sleep(EVERY)
        yield json.loads(file.read_text())["address"]


def against_dask(told: argparse.Namespace) -> None:
    """Print one row a size: wall seconds of both, by turns, and their ratio."""
    print(
        f"| records | {told.workers} processes, s | {told.workers} workers of dask, s | ratio of medians | load |"
    )
    print("|---|---|---|---|---|")
    with cluster(told.workers) as address:
        ours, theirs = (
            ["--engine", "stream", "--workers", str(told.workers)],
            ["--engine", "dask", "--scheduler", address],
        )
        with run_of(WARM) as folder:
            watched(score(*theirs, "--part-rows", "100"), folder)
        for n in told.records or [1_000_000]:
            with run_of(n) as folder:
                watched(score(*ours), folder)  # keeps the columns
                legs = [
                    (watched(score(*ours), folder).seconds, watched(score(*theirs), folder).seconds)
                    for _ in range(told.rounds)
                ]
            here, there = zip(*legs, strict=True)
            ratio = statistics.median(there) / statistics.median(here)
            shown = [", ".join(f"{seconds:.1f}" for seconds in each) for each in (here, there)]
            print(f"| {n:,} | {shown[0]} | {shown[1]} | {ratio:.2f} | {os.getloadavg()[0]:.1f} |", flush=True)


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=["stream", "dask"], default="stream")
    parser.add_argument("--part-rows", type=int, default=4_096)
    parser.add_argument("--against-dask", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("records", type=int, nargs="*")
    told = parser.parse_args()
    against_dask(told) if told.against_dask else sizes(told)


if __name__ == "__main__":
    main()
