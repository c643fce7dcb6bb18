"""Peak memory, time and CPU of `evalkit score` part by part as runs grow; and workers of dask against our own.

    python benchmarks/memory.py [--workers 2] [--engine stream] [--part-rows 4096] [--kind .parquet] [records …]
    python benchmarks/memory.py --against-dask [--rounds 3] [records …]

Runs of 1.5 KB a record are generated on the fly, in a file of the kind that is named, and deleted after. Memory is
what all processes hold together: pages that they share are counted once (PSS), pages of files count as well. Against
dask the same run is measured by turns: by so many processes of ours, and by as many workers of a scheduler that is
there already, each with one thread and warm; the columns are kept beside the run by then.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
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
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyarrow as pa
import pyarrow.parquet as pq

EVERY = 0.2
BYTES = 6_000
"""Disk that a record may take: its line, its columns, its samples on their way."""

ROWS = 50_000
TABLES: dict[str, Any] = {".parquet": pq.ParquetWriter, ".arrow": pa.ipc.new_file}
OPENERS: dict[str, Any] = {
    ".jsonl": partial(Path.open, mode="wb"),
    ".gz": partial(gzip.open, mode="wb", compresslevel=1),
    ".zst": lambda path: pa.CompressedOutputStream(str(path), "zstd"),
}
WARM = 5_000
"""Records of the run that workers of dask measure before it counts: they load their packages meanwhile."""


def records(n: int) -> Iterator[dict[str, Any]]:
    """A run of `n` records: ten retrieved documents, one to three gold ones, thirty intents."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    intents = [f"S{number}_意图{number}" for number in range(30)]
    documents = [f"POLICY_{number:04d}" for number in range(2_000)]
    query, answer = "买了两周的耳机还能退吗？" * 5, "支持七天无理由退货，超过七天需要检测。" * 15
    for number in range(n):
        gold = rng.choice(intents)
        retrieved = rng.sample(documents, 10)
        wanted = [
            rng.choice(retrieved if rng.random() < 0.6 else documents) for _ in range(rng.randint(1, 3))
        ]
        yield {
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


def write(path: Path, found: Iterable[dict[str, Any]]) -> None:
    """Write a run as its name says: lines, compressed or not, or a table."""
    if path.suffix in TABLES:
        rows = iter(found)
        batches = iter(lambda: pa.Table.from_pylist(list(islice(rows, ROWS))), pa.table({}))
        first = next(batches)
        with TABLES[path.suffix](path, first.schema) as table:
            for batch in (first, *batches):
                table.write_table(batch)
        return
    with OPENERS[path.suffix](path) as file:
        for row in found:
            file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


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
def run_of(n: int, kind: str) -> Iterator[Path]:
    """A folder with a run of so many records, in a file of that kind."""
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
        free = shutil.disk_usage(name).free
        assert free > BYTES * n, f"{n:,} records need {BYTES * n:,} bytes of disk, {free:,} are free"
        write(Path(name) / f"run{kind}", records(n))
        yield Path(name)


def score(kind: str, *options: str) -> list[str]:
    """The command that scores the run of a folder."""
    return [sys.executable, "-m", "evalkit", "score", f"run{kind}", "--json", *options]


def sizes(told: argparse.Namespace) -> None:
    """Print one row a size, from lines and from columns."""
    print(
        "| records | run MB | reading | seconds | CPU s | CPU µs a record | peak MiB, shared once | peak MiB, summed | load |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    options = ["--engine", told.engine, "--workers", str(told.workers), "--part-rows", str(told.part_rows)]
    for n in told.records or [10_000, 100_000, 1_000_000]:
        with run_of(n, told.kind) as folder:
            size = (folder / f"run{told.kind}").stat().st_size / 1e6
            for reading in ("file", "columns"):
                seconds, cpu, shared, resident = watched(score(told.kind, *options), folder)
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
        with run_of(WARM, told.kind) as folder:
            watched(score(told.kind, *theirs, "--part-rows", "100"), folder)
        for n in told.records or [1_000_000]:
            with run_of(n, told.kind) as folder:
                watched(score(told.kind, *ours), folder)  # keeps the columns
                legs = [
                    (
                        watched(score(told.kind, *ours), folder).seconds,
                        watched(score(told.kind, *theirs), folder).seconds,
                    )
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
    parser.add_argument("--kind", choices=[".jsonl", ".jsonl.gz", ".jsonl.zst", *TABLES], default=".jsonl")
    parser.add_argument("--against-dask", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("records", type=int, nargs="*")
    told = parser.parse_args()
    against_dask(told) if told.against_dask else sizes(told)


if __name__ == "__main__":
    main()
