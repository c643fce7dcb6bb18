"""How often the default gate cries wolf, and how often it sees what is there.

Run `python benchmarks/gate_simulation.py`. A pair of runs has 30 intents of 3 to 30 cases; each case has its own
chance to come out right. In a null pair both runs draw from the same chances. The policy is
`regression = ["intent_top1"]` with its defaults; a gate ends as REGRESSION where some change is judged worse.
The judging is the gate's own (`evalkit.report.judging`); only the intervals, which decide nothing, are not
drawn. Some of the null pairs go through the whole gate too, and must get the same answer.
"""

from __future__ import annotations

import argparse
import math
import time
from collections import Counter
from datetime import date
from functools import cache

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.report.change import Change
from evalkit.report.compare import ALPHA
from evalkit.report.gate import gate
from evalkit.report.judging import judged
from evalkit.report.policy import Policy
from evalkit.report.snapshot import TEXTS, MetricFacts, Snapshot
from evalkit.stats import mcnemar

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

INTENTS, FEWEST, MOST = 30, 3, 30
SEED = 20_260_826
TODAY = date(2026, 8, 26)
FACTS = MetricFacts("intent_top1|v1|set:simulated", is_rate=True, is_pct=True, lower_is_better=False)
p_of = cache(mcnemar)


def cases(rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats]:
    """The intent of each case (n,), and its chance to come out right: mostly sure, some on the border."""
    sizes = rng.integers(FEWEST, MOST + 1, size=INTENTS)
    labels = np.repeat(np.arange(INTENTS), sizes)
    return labels, rng.beta(3.0, 0.6, size=len(labels))


def draw(rng: np.random.Generator, chances: Floats) -> Bools:
    """One run: which cases come out right."""
    return rng.random(len(chances)) < chances


def changes(labels: NDArray[np.int64], base: Bools, run: Bools) -> list[Change]:
    """The changes of the gate's family: overall, then each intent."""
    counts = np.stack([np.ones(len(labels)), base & ~run, run & ~base, base], axis=0)
    by_intent = np.stack([np.bincount(labels, weights=row, minlength=INTENTS) for row in counts])
    table = np.column_stack([counts.sum(axis=1), by_intent]).astype(int)
    places = [("overall", ""), *(("intent_l2", str(label)) for label in range(INTENTS))]
    moved = np.flatnonzero(base != run)
    evidence = [
        str(moved.tolist()),
        *(str(moved[labels[moved] == label].tolist()) for label in range(INTENTS)),
    ]
    rows = zip(places, table.T.tolist(), evidence, strict=True)
    return [_change(place, column, which) for place, column, which in rows]


def _change(place: tuple[str, str], counts: list[int], evidence: str) -> Change:
    n, worse, better, right = counts
    return Change(
        metric="intent_top1",
        dimension=place[0],
        slice=place[1],
        facts=FACTS,
        bounded=True,
        n_common=n,
        n_cases=n,
        lost=0,
        base_mean=right / n,
        run_mean=(right - worse + better) / n,
        ci_low=None,
        ci_high=None,
        worse=worse,
        better=better,
        fallible=right,
        evidence=evidence,
        spread=(worse + better) / n,
        p=p_of(worse, better),
    )


def regressions(labels: NDArray[np.int64], base: Bools, run: Bools) -> set[str]:
    """The slices that the gate calls worse; "" is the whole run."""
    verdicts = judged(changes(labels, base, run), alpha=ALPHA, family_wise=True)
    return {change.slice for change in verdicts if change.verdict == "worse"}


def false_alarms(pairs: int, rng: np.random.Generator) -> int:
    """How many of so many null pairs end as REGRESSION."""
    found = 0
    for _ in range(pairs):
        labels, chances = cases(rng)
        found += bool(regressions(labels, draw(rng, chances), draw(rng, chances)))
    return found


def snapshot_of(run: Bools, labels: NDArray[np.int64], run_id: str) -> Snapshot:
    """The run as the gate takes it."""
    keys = [f"q{number:04}" for number in range(len(labels))]
    texts = dict.fromkeys(TEXTS, "x") | {"sample_id": keys, "case_sha": keys, "intent_l2": labels.astype(str)}
    samples = pd.DataFrame(texts, index=pd.Index(keys, name="key")).assign(intent_top1=run.astype(float))
    return Snapshot(run_id, True, "simulated", len(keys), "simulated", {"intent_top1": FACTS}, samples)


def whole_gate(pairs: int, rng: np.random.Generator) -> Counter[str]:
    """The verdicts of the whole gate on null pairs, each held against the quick way to it."""
    policy = Policy(regression=("intent_top1",))
    verdicts: Counter[str] = Counter()
    for _ in range(pairs):
        labels, chances = cases(rng)
        base, run = draw(rng, chances), draw(rng, chances)
        snapshots = [snapshot_of(each, labels, name) for each, name in ((base, "base"), (run, "run"))]
        verdict = gate(snapshots[1], base=snapshots[0], policy=policy, today=TODAY).verdict
        assert (verdict == "REGRESSION") == bool(regressions(labels, base, run))
        verdicts[verdict] += 1
    return verdicts


def power_of_slice(n: int, drop: float, pairs: int, rng: np.random.Generator) -> float:
    """How often the gate names one intent of n cases, nearly always right before, whose rate falls by `drop`."""
    found = 0
    for _ in range(pairs):
        labels, chances = cases(rng)
        keep = labels != 0
        labels = np.concatenate([np.zeros(n, dtype=np.int64), labels[keep]])
        before = np.concatenate([np.full(n, 0.97), chances[keep]])
        after = before - np.where(labels == 0, drop, 0.0)
        found += "0" in regressions(labels, draw(rng, before), draw(rng, np.maximum(after, 0)))
    return found / pairs


def power_overall(drop: float, pairs: int, rng: np.random.Generator) -> float:
    """How often the gate ends as REGRESSION where every case loses so much of its chance."""
    found = 0
    for _ in range(pairs):
        labels, chances = cases(rng)
        found += bool(regressions(labels, draw(rng, chances), draw(rng, np.maximum(chances - drop, 0))))
    return found / pairs


def print_false_alarms(pairs: int, whole: int, rng: np.random.Generator) -> None:
    """How often chance alone stops the build."""
    alarms = false_alarms(pairs, rng)
    rate = alarms / pairs
    error = 1.96 * math.sqrt(rate * (1 - rate) / pairs)
    print(f"{pairs:,} null pairs, {INTENTS} intents of {FEWEST} to {MOST} cases, seed {SEED}")
    print(f"false alarms: {alarms} of {pairs:,} = {rate:.2%} ± {error:.2%} (allowed: {ALPHA:.0%})")
    told = ", ".join(f"{verdict} {n}" for verdict, n in whole_gate(whole, rng).most_common())
    print(f"the whole gate on {whole:,} further null pairs, the same answer each time: {told}")


def print_power(pairs: int, rng: np.random.Generator) -> None:
    """How often the gate sees what is there."""
    print("\nOne intent falls from 97 %: how often it is named")
    drops = (0.2, 0.4, 0.6, 0.8)
    print("| cases | " + " | ".join(f"{100 * drop:.0f} points" for drop in drops) + " |")
    print("|---:|" + "---:|" * len(drops))
    for n in (5, 10, 15, 20, 30):
        cells = [f"{power_of_slice(n, drop, pairs, rng):.0%}" for drop in drops]
        print(f"| {n} | " + " | ".join(cells) + " |")
    print("\nEvery case loses of its chance: how often the gate ends as REGRESSION")
    print("| fall of each case | found |\n|---:|---:|")
    for drop in (0.01, 0.02, 0.05, 0.08, 0.1):
        print(f"| {100 * drop:.0f} points | {power_overall(drop, pairs, rng):.0%} |")


def main() -> None:
    """Print the share of false alarms and the power curves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000, help="null pairs")
    parser.add_argument("--whole", type=int, default=300, help="null pairs through the whole gate")
    parser.add_argument("--power-pairs", type=int, default=1_000, help="pairs a point of the power curves")
    asked = parser.parse_args()
    began = time.perf_counter()
    rng = np.random.default_rng(SEED)
    print_false_alarms(asked.pairs, asked.whole, rng)
    print_power(asked.power_pairs, rng)
    print(f"\ntook {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
