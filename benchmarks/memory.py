"""Peak resident memory and wall time of `evalkit score` part by part as runs grow.

    python benchmarks/memory.py [--workers 2] [--engine stream] [--part-rows 4096] [--kind .parquet] [records …]

Runs of 1.5 KB a record are generated on the fly, in a file of the kind that is named, and deleted after. Memory is
what all processes hold together: pages that they share are counted once (PSS), pages of files count as well.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

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


def watched(command: list[str], folder: Path) -> tuple[float, float, float]:
    """Seconds of the command, and the peak of the memory of all its processes in MiB: shared once, and resident."""
    start, shared, resident = time.perf_counter(), 0, 0
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    while process.poll() is None:
        pss, rss = memory(process.pid)
        shared, resident = max(shared, pss), max(resident, rss)
        time.sleep(EVERY)
    assert process.returncode == 0, f"{command} ended with {process.returncode}"
    return time.perf_counter() - start, shared / 2**20, resident / 2**20


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


def main() -> None:
    """Print one row a size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engine", choices=["stream", "dask"], default="stream")
    parser.add_argument("--part-rows", type=int, default=4_096)
    parser.add_argument("--kind", choices=[".jsonl", ".jsonl.gz", ".jsonl.zst", *TABLES], default=".jsonl")
    parser.add_argument("records", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    told = parser.parse_args()
    print("| records | run MB | reading | seconds | peak MiB, shared once | peak MiB, summed |")
    print("|---|---|---|---|---|---|")
    for n in told.records:
        with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix="bench-") as name:
            folder = Path(name)
            assert shutil.disk_usage(folder).free > BYTES * n, (
                f"{n:,} records need {BYTES * n:,} bytes of disk"
            )
            write(folder / f"run{told.kind}", records(n))
            size = (folder / f"run{told.kind}").stat().st_size / 1e6
            command = [
                sys.executable,
                "-m",
                "evalkit",
                "score",
                f"run{told.kind}",
                "--engine",
                told.engine,
                "--json",
            ]
            command += ["--workers", str(told.workers), "--part-rows", str(told.part_rows)]
            for reading in ("file", "columns"):
                seconds, shared, resident = watched(command, folder)
                print(
                    f"| {n:,} | {size:,.0f} | {reading} | {seconds:.1f} | {shared:.0f} | {resident:.0f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
