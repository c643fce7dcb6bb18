"""From a run's JSONL to its metrics by slice: CPU time as ratios to a parser, to a loop over objects.

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
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from evalkit import EvalRecord
from evalkit.contracts import Attempt, Timings, Turn
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
    """A run of `n` records as the runner writes them, about 3 KB each: every tenth is a chat without documents."""
    rng = random.Random(20_260_826)  # noqa: S311 - test data
    intents = [f"S{number}_意图{number}" for number in range(30)]
    documents = [f"POLICY_{number:04d}" for number in range(2_000)]
    for number in range(n):
        gold, seen = rng.choice(intents), None if number % 10 == 0 else rng.choice(intents)
        query = f"买了{number % 97}周的耳机还能退吗？"
        response = f"支持{number % 31}天无理由退货，超过七天需要检测。\n" * 4
        yield EvalRecord(
            sample_id=f"case-{number:07d}",
            run_id="nightly",
            started_at=datetime.fromtimestamp(1_787_000_000 + number, tz=UTC),
            query=query,
            response=response,
            reference="七天内可以无理由退货。",
            intent_l1=f"L{intents.index(gold) // 6}",
            intent_l2=gold,
            intent_pred=gold if seen and rng.random() < 0.8 else seen,
            intent_pred_all=(gold if seen else None,),
            difficulty=rng.choice(("easy", "medium", "hard")),
            tags=tuple(rng.sample(("耳机", "退货", "发票"), rng.randint(0, 2))),
            sub_questions=(query,),
            dialog=(Turn(sent_message=query, reply=response, status="ok", ttft_ms=80.5, latency_ms=910.25),),
            trace_ids={"conversationId": str(10**18 + number), "taskId": str(2 * 10**18 + number)},
            evidence_source="side_channel",
            **_timed(rng),
            **(_ranked(rng, documents) if seen else {"requires_rag": False}),
        )


def _timed(rng: random.Random) -> dict[str, Any]:
    first, end = rng.uniform(40, 400), rng.uniform(400, 4_000)
    answer = Timings(
        queue_ms=0.02, headers_ms=12.5, first_event_ms=first, first_text_ms=first, end_ms=end, events=30
    )
    return {
        "ttft_ms": first,
        "total_ms": end,
        "answer_timings": answer,
        "evidence_timings": Timings(queue_ms=0.02, headers_ms=4.2, end_ms=rng.uniform(5, 50)),
        "answer_attempts": (Attempt(status="ok", total_ms=end),),
        "evidence_attempts": (Attempt(status="ok", total_ms=20.5),),
    }


def _ranked(rng: random.Random, documents: Sequence[str]) -> dict[str, Any]:
    """Ten documents that were found, and one to three that were wanted."""
    found = rng.sample(documents, 10)
    wanted = [rng.choice(found) if rng.random() < 0.6 else rng.choice(documents) for _ in range(3)]
    return {
        "requires_rag": True,
        "reference_doc_ids": tuple(dict.fromkeys(wanted[: rng.randint(1, 3)])),
        "retrieved_doc_ids": tuple(found),
    }


def cpu(leg: Callable[[], Any]) -> float:
    """The fastest run of a leg, in CPU seconds of this process."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < SLOW_S:
        start = time.process_time()
        leg()
        times.append(time.process_time() - start)
    return min(times)


Score = Callable[[EvalRecord], float | None]
Means = dict[str, dict[str, float]]


def by_objects(path: Path) -> Means:
    """In one pass: an object a line, its places found once for all metrics, a list of scores for each slice."""
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
    for k in CUTOFFS if gold else ():
        ranks = [rank for rank, doc in enumerate(found[:k], 1) if doc in gold]
        yield from ((f"{name}@{k}", score(ranks, len(gold), k)) for name, score in SCORES.items())


def by_metrics(path: Path) -> Means:
    """Metric by metric: a list of all objects, one function of a record for each metric, one mean for all of them."""
    with path.open("rb") as file:
        run = [EvalRecord.model_validate_json(line) for line in file]
    return {name: _mean_by_slice(run, score)[0] for name, score in _each_metric()}


def _each_metric() -> Iterator[tuple[str, Score]]:
    yield (
        "intent_top1",
        lambda record: float(record.intent_pred == record.intent_l2) if record.intent_l2 else None,
    )
    for k in CUTOFFS:
        for name, score in SCORES.items():
            yield f"{name}@{k}", partial(_of_documents, score=score, k=k)


def _of_documents(
    record: EvalRecord, *, score: Callable[[list[int], int, int], float], k: int
) -> float | None:
    gold = set(record.reference_doc_ids)
    if not gold or record.retrieved_doc_ids is None:
        return None
    top = list(dict.fromkeys(record.retrieved_doc_ids))[:k]
    return score([rank for rank, doc in enumerate(top, 1) if doc in gold], len(gold), k)


def _mean_by_slice(run: Sequence[EvalRecord], score: Score) -> tuple[dict[str, float], dict[str, float]]:
    """The mean of each slice, and the score of each sample, which tables need."""
    slices: dict[str, list[float]] = defaultdict(list)
    samples: dict[str, float] = {}
    for record in run:
        value = score(record)
        if value is None:
            continue
        samples[record.sample_id] = value
        for label in ("", record.intent_l1 or "", record.intent_l2 or ""):
            slices[label].append(value)
    return {label: sum(values) / len(values) for label, values in slices.items()}, samples


def _ndcg(ranks: list[int], gold: int, k: int) -> float:
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(k, gold) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks) / ideal


SCORES: dict[str, Callable[[list[int], int, int], float]] = {
    "hit": lambda ranks, _gold, _k: float(bool(ranks)),
    "recall": lambda ranks, gold, _k: len(ranks) / gold,
    "precision": lambda ranks, _gold, k: len(ranks) / k,
    "mrr": lambda ranks, _gold, _k: 1 / ranks[0] if ranks else 0.0,
    "map": lambda ranks, gold, _k: sum(n / rank for n, rank in enumerate(ranks, 1)) / gold,
    "ndcg": _ndcg,
}
"""Each metric by the places of the wanted documents in the top k, how many are wanted, and k."""


def to_slices(path: Path, *, kept: bool) -> Any:
    """From the file to every mean of every slice; with `kept` from the columns beside it."""
    if not kept:
        columns_path(path).unlink(missing_ok=True)
    return local(load(path, rows_up_to=0), metrics=METRICS)


def same(path: Path) -> None:
    """Stop where the loop over objects has another mean than the columns."""
    wanted = by_objects(path)
    if wanted != by_metrics(path):
        raise SystemExit("the two ways over objects differ")
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
        "orjson.loads, each dropped": lambda: deque((orjson.loads(line) for line in lines), maxlen=0),
        "orjson.loads, all kept": lambda: [orjson.loads(line) for line in lines],
        "json.loads, each dropped": lambda: deque((json.loads(line) for line in lines), maxlen=0),
        "models alone, each dropped": lambda: deque(map(EvalRecord.model_validate_json, lines), maxlen=0),
        "evalkit: lines to checked columns": lambda: deque(
            Lines(path).batches(Reading[EvalRecord]()), maxlen=0
        ),
        "evalkit: lines to slices, columns kept": lambda: to_slices(path, kept=False),
        "evalkit: kept columns to slices": lambda: to_slices(path, kept=True),
        "evalkit: metrics alone, columns coded": lambda: (columns, local(table, metrics=METRICS)),
        "evalkit: every metric of kept columns": lambda: local(load(path, rows_up_to=0)),
        "objects, all metrics in one pass": lambda: by_objects(path),
        "objects, metric by metric": lambda: by_metrics(path),
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
    floor = times["orjson.loads, each dropped"]
    sys.stdout.write(
        f"{n:,} records of {size:,.0f} bytes, CPU, best of {REPEATS}; load {os.getloadavg()[0]:.1f}\n\n"
        f"{'leg':<44}{'µs/record':>10}{'× orjson':>10}\n"
    )
    for name, seconds in times.items():
        sys.stdout.write(f"{name:<44}{seconds / n * 1e6:>10.2f}{seconds / floor:>10.2f}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
