"""From a run's JSONL to its metrics: CPU time as ratios to the read floor and to the field's tools, in one run.

    python benchmarks/scoring.py [records]

All legs see the same generated run. Each is timed three times in this process; the fastest counts.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytrec_eval

from evalkit import EvalRecord, Records
from evalkit.engines.local import local
from evalkit.metrics import intent, retrieval
from evalkit.reading import encode

REPEATS = 3


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
            query="买了两周的耳机还能退吗？" * 3,
            response="支持七天无理由退货，超过七天需要检测。" * 8,
            intent_l1="SUPPORT",
            intent_l2=gold,
            intent_pred=gold if rng.random() < 0.8 else rng.choice(intents),
            requires_rag=True,
            reference_doc_ids=tuple(dict.fromkeys(wanted[: rng.randint(1, 3)])),
            retrieved_doc_ids=tuple(retrieved),
            ttft_ms=rng.uniform(40, 400),
            total_ms=rng.uniform(400, 4_000),
        )


def cpu(leg: Callable[[], Any]) -> float:
    """The fastest of three runs of a leg, in CPU seconds of this process."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        leg()
        times.append(time.process_time() - start)
    return min(times)


def seed_style(rows: list[EvalRecord]) -> float:
    """Recall@5 as a loop over objects with Python sets, the way one writes it first."""
    found = [
        len(set((row.retrieved_doc_ids or ())[:5]) & set(row.reference_doc_ids)) / len(row.reference_doc_ids)
        for row in rows
        if row.requires_rag and row.reference_doc_ids
    ]
    return sum(found) / len(found)


def trec(rows: list[EvalRecord]) -> Any:
    """The measures that both define, by trec_eval's own code, building its input included."""
    gold = {row.sample_id: dict.fromkeys(row.reference_doc_ids, 1) for row in rows}
    ranked = {
        row.sample_id: {doc: float(-rank) for rank, doc in enumerate(row.retrieved_doc_ids or ())}
        for row in rows
    }
    measures = {
        "P.1,3,5,10",
        "recall.1,3,5,10",
        "recip_rank",
        "map_cut.1,3,5,10",
        "ndcg_cut.1,3,5,10",
        "success.1,5,10",
    }
    return pytrec_eval.RelevanceEvaluator(gold, measures).evaluate(ranked)


def main(n: int) -> None:
    """Time every leg and print the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.jsonl")
        with path.open("wb") as file:
            file.writelines(encode(record) for record in records(n))
        table = Records.of(path)
        rows = list(table)
        legs: dict[str, Callable[[], Any]] = {
            "read bytes, split lines": lambda: path.read_bytes().split(b"\n"),
            "json.loads of every line": lambda: [json.loads(line) for line in path.read_bytes().splitlines()],
            "evalkit: read and validate": lambda: Records.of(path),
            "evalkit: intent_top1": lambda: intent.compute(Records.of(rows)),
            "evalkit: 31 retrieval metrics": lambda: retrieval.compute(Records.of(rows)),
            "evalkit: every metric": lambda: local(Records.of(rows)),
            "loop over objects: recall@5 alone": lambda: seed_style(rows),
            "pytrec_eval: P recall RR MAP nDCG success": lambda: trec(rows),
        }
        times = {name: cpu(leg) for name, leg in legs.items()}
    floor = times["json.loads of every line"]
    sys.stdout.write(
        f"{n:,} records, CPU, best of {REPEATS}\n\n{'leg':<44}{'µs/record':>10}{'× json.loads':>14}\n"
    )
    for name, seconds in times.items():
        sys.stdout.write(f"{name:<44}{seconds / n * 1e6:>10.2f}{seconds / floor:>14.2f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
