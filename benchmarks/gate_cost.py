"""What a gate costs: 100,000 samples of 200 intents held against a baseline, intervals and drawn tests included.

Run `python benchmarks/gate_cost.py`. The policy holds a rate, recall and reciprocal ranks, overall and in each
intent; between the runs a fifth of the samples changes. Measured is the CPU time of this process: of the gate
alone, over scores that are there, and of the whole way from files: a run is read and scored, a committed baseline
read, and the gate applied.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from evalkit.cli.sides import of_run
from evalkit.contracts import EvalRecord, Manifest
from evalkit.reading import encode
from evalkit.report import baseline
from evalkit.report.gate import gate
from evalkit.report.policy import Policy
from evalkit.report.snapshot_json import to_json
from evalkit.report.verdict import Verdict

Found = TypeVar("Found")

SEED = 20_260_826
TODAY = date(2026, 8, 26)
POLICY = Policy(regression=("intent_top1", "recall@5", "mrr@10"), thresholds={"intent_top1": 0.5})
DOCUMENTS = 5


def records(samples: int, intents: int, seed: int) -> list[EvalRecord]:
    """A run: each case has its own chance that the intent is right and that each of two documents is found."""
    chances = np.random.default_rng(SEED).beta(3.0, 0.6, size=samples)
    rng = np.random.default_rng(seed)
    right, found = rng.random(samples) < chances, rng.random((samples, 2)) < chances[:, None]
    rows = []
    for number in range(samples):
        intent = number % intents
        gold = [f"D{intent}-{place}" for place in range(2)]
        others = [f"D{intent}-x{place}" for place in range(int(rng.integers(DOCUMENTS)))]
        rows.append(
            EvalRecord(
                sample_id=f"q{number:06}",
                query=f"第{number}个问题",
                intent_l1=f"L{intent // 10}",
                intent_l2=f"S{intent}",
                intent_pred=f"S{intent}" if right[number] else f"S{(intent + 1) % intents}",
                requires_rag=True,
                reference_doc_ids=tuple(gold),
                retrieved_doc_ids=(
                    *others,
                    *(doc for doc, hit in zip(gold, found[number], strict=True) if hit),
                ),
                response="好的。",
            )
        )
    return rows


def on_file(folder: Path, run_id: str, rows: list[EvalRecord]) -> Path:
    """The run with its manifest."""
    path = folder / f"{run_id}.jsonl"
    with path.open("wb") as file:
        file.writelines(map(encode, rows))
    manifest = Manifest(
        run_id=run_id,
        state="complete",
        eval_set="cases.jsonl",
        eval_set_sha256="ab" * 32,
        target="simulated",
        evalkit_version="0",
        started_at="2026-08-26T00:00:00Z",
        planned=len(rows),
    )
    path.with_name(f"{run_id}.meta.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    return path


def timed(work: Callable[[], Found]) -> tuple[Found, float]:
    """What the work gives back, and the CPU seconds it took."""
    began = time.process_time()
    return work(), time.process_time() - began


def told(what: str, verdict: Verdict, seconds: float) -> str:
    """One line of the answer."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    checks = len(verdict.checks)
    return f"{what}: {seconds:.1f} s CPU, {checks} checks, {verdict.verdict}; peak so far {peak:.0f} MiB"


def main() -> None:
    """Print what the gate costs alone, and from files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=100_000, help="samples a run")
    parser.add_argument("--intents", type=int, default=200, help="second-level intents")
    asked = parser.parse_args()
    print(
        f"{asked.samples:,} samples, {asked.intents} intents, {len(POLICY.regression)} metrics, seed {SEED}"
    )
    with TemporaryDirectory() as name:
        folder = Path(name)
        before = on_file(folder, "base", records(asked.samples, asked.intents, 1))
        after = on_file(folder, "run", records(asked.samples, asked.intents, 2))
        base = of_run(before, metrics=POLICY.metrics)
        committed = folder / "baseline.json"
        committed.write_bytes(to_json(base))
        run, reading = timed(lambda: of_run(after, metrics=POLICY.metrics))
        _, loading = timed(lambda: baseline.load(committed))
        verdict, alone = timed(lambda: gate(run, base=base, policy=POLICY, today=TODAY))
    print(told("the gate alone", verdict, alone))
    print(
        told(
            f"from files ({reading:.1f} s to read and score the run, {loading:.1f} s to read the baseline)",
            verdict,
            reading + loading + alone,
        )
    )


if __name__ == "__main__":
    main()
