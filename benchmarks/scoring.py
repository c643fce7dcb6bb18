"""From a run's JSONL to its metrics by slice: CPU time as ratios to a parser, to a loop over objects, to a tool.

    python benchmarks/scoring.py [records]

All legs see the same generated run, in one process. Each is timed three times and the fastest counts; legs that
take seconds are timed once. The metrics are top-1 intent and every retrieval metric at all cut-offs, each over
all records and by both levels of intents.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson

from evalkit import EvalRecord
from evalkit.engines.local import local
from evalkit.reading import Reading, encode
from evalkit.records import load
from evalkit.records.sealed import columns_path
from evalkit.records.sources import Lines
from evalkit.registry import Spec

REPEATS = 3
SLOW_S = 5.0
CUTOFFS = (1, 3, 5, 10)
METRICS = (Spec("intent"), Spec("retrieval"))


def records(n: int) -> Iterator[EvalRecord]:
    """A run of `n` records of about 2 KB: ten retrieved documents, one to three gold ones, thirty intents."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    intents = [f"S{number}_意图{number}" for number in range(30)]
    documents = [f"POLICY_{number:04d}" for number in range(2_000)]
    for number in range(n):
        gold = rng.choice(intents)
        retrieved = rng.sample(documents, 10)
        wanted = [rng.choice(retrieved) if rng.random() < 0.6 else rng.choice(documents) for _ in range(3)]
        yield EvalRecord(
            sample_id=f"case-{number:07d}",
            query=f"买了{number % 97}周的耳机还能退吗？" * 3,
            response=f"支持{number % 31}天无理由退货，超过七天需要检测。\n" * 8,
            intent_l1=f"L{intents.index(gold) // 6}",
            intent_l2=gold,
            intent_pred=gold if rng.random() < 0.8 else rng.choice(intents),
            requires_rag=True,
            reference_doc_ids=tuple(dict.fromkeys(wanted[: rng.randint(1, 3)])),
            retrieved_doc_ids=tuple(retrieved),
            ttft_ms=rng.uniform(40, 400),
            total_ms=rng.uniform(400, 4_000),
        )


def cpu(leg: Callable[[], Any]) -> float:
    """The fastest run of a leg, in CPU seconds of this process."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < SLOW_S:
        start = time.process_time()
        leg()
        times.append(time.process_time() - start)
    return min(times)


def by_objects(path: Path) -> dict[str, dict[str, float]]:
    """The way one writes it first: an object a line, sets, and a list of scores for each slice."""
    scores: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with path.open("rb") as file:
        for line in file:
            record = EvalRecord.model_validate_json(line)
            for name, score in _of_object(record):
                for label in ("", record.intent_l1 or "", record.intent_l2 or ""):
                    scores[name][label].append(score)
    return {
        name: {label: sum(values) / len(values) for label, values in slices.items()}
        for name, slices in scores.items()
    }


def _of_object(record: EvalRecord) -> Iterator[tuple[str, float]]:
    yield "intent_top1", float(record.intent_pred == record.intent_l2)
    gold, found = set(record.reference_doc_ids), list(dict.fromkeys(record.retrieved_doc_ids or ()))
    for k in CUTOFFS:
        ranks = [rank for rank, doc in enumerate(found[:k], 1) if doc in gold]
        ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, len(gold)) + 1))
        yield f"hit@{k}", float(bool(ranks))
        yield f"recall@{k}", len(ranks) / len(gold)
        yield f"precision@{k}", len(ranks) / k
        yield f"mrr@{k}", 1 / ranks[0] if ranks else 0.0
        yield f"map@{k}", sum(n / rank for n, rank in enumerate(ranks, 1)) / len(gold)
        yield f"ndcg@{k}", sum(1 / math.log2(rank + 1) for rank in ranks) / ideal


def to_slices(path: Path, *, kept: bool) -> Any:
    """From the file to every mean of every slice; with `kept` from the columns beside it."""
    if not kept:
        columns_path(path).unlink(missing_ok=True)
    return local(load(path, rows_up_to=0), metrics=METRICS)


def same(path: Path) -> None:
    """Stop where the loop over objects has another mean than the columns."""
    wanted = by_objects(path)
    for result in to_slices(path, kept=False):
        for label, mean in [("", result.overall), *result.by_intent_l2.items()]:
            if result.name in wanted and abs(wanted[result.name][label] - (mean or 0.0)) > 1e-12:
                raise SystemExit(
                    f"{result.name} {label}: {wanted[result.name][label]} by objects, {mean} by columns"
                )


def legs(path: Path, lines: list[bytes]) -> dict[str, Callable[[], Any]]:
    """What is timed, by what it is called in the table."""
    table = load(path, rows_up_to=0)
    columns = [table.lists("retrieved_doc_ids"), table.groups("intent_l1"), table.groups("intent_l2")]
    return {
        "read bytes, count lines": lambda: path.read_bytes().count(b"\n"),
        "orjson.loads of every line": lambda: [orjson.loads(line) for line in lines],
        "json.loads of every line": lambda: [json.loads(line) for line in lines],
        "evalkit: lines to checked columns": lambda: list(Lines(path).batches(Reading[EvalRecord]())),
        "evalkit: lines to slices, columns kept": lambda: to_slices(path, kept=False),
        "evalkit: kept columns to slices": lambda: to_slices(path, kept=True),
        "evalkit: metrics alone, columns coded": lambda: (columns, local(table, metrics=METRICS)),
        "evalkit: every metric of kept columns": lambda: local(load(path, rows_up_to=0)),
        "objects and sets: lines to slices": lambda: by_objects(path),
    }


def main(n: int) -> None:
    """Time every leg and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        with path.open("wb") as file:
            file.writelines(encode(record) for record in records(n))
        same(path)
        lines = path.read_bytes().splitlines()
        times = {name: cpu(leg) for name, leg in legs(path, lines).items()}
        size = path.stat().st_size / n
    floor = times["orjson.loads of every line"]
    sys.stdout.write(
        f"{n:,} records of {size:,.0f} bytes, CPU, best of {REPEATS}; load {os.getloadavg()[0]:.1f}\n\n"
        f"{'leg':<44}{'µs/record':>10}{'× orjson':>10}\n"
    )
    for name, seconds in times.items():
        sys.stdout.write(f"{name:<44}{seconds / n * 1e6:>10.2f}{seconds / floor:>10.2f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
