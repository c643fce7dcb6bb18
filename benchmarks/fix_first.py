"""Does the top of the list name what is broken? Planted faults among 100 intents, ranked in two ways.

Run `python benchmarks/fix_first.py`. Each set has 100 intents of 3 to 30 cases, each intent its own usual error
rate (8 % on average), and five faults: intents picked at random whose error rate rises by 20 to 60 points.
The first five rows of `evalkit fix` (lower bound of the recoverable points) stand against the five intents with
the lowest accuracy, ties broken by size, larger first. Two questions: how many of the five rows are planted
faults, and how much of what the five best choices would truly win do the five rows win?
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.metrics.intent import compute
from evalkit.records import Records
from evalkit.report.digest import Run, digest
from evalkit.report.intent_tree import intent_tree

Floats = NDArray[np.float64]

INTENTS, FEWEST, MOST, FAULTS, ROWS = 100, 3, 30, 5, 5
SEED = 20_260_826


def planted(rng: np.random.Generator) -> tuple[NDArray[np.int64], Floats, set[int]]:
    """The size and the error rate of each intent (100,), and which are broken."""
    sizes = rng.integers(FEWEST, MOST + 1, size=INTENTS)
    rates = rng.beta(1.6, 18.4, size=INTENTS)
    broken = rng.choice(INTENTS, size=FAULTS, replace=False)
    rates[broken] = np.minimum(1, rates[broken] + rng.uniform(0.2, 0.6, size=FAULTS))
    return sizes, rates, set(broken.tolist())


def records(sizes: NDArray[np.int64], rates: Floats, rng: np.random.Generator) -> Records:
    """One run: a wrong case is taken for some other intent."""
    rows = [
        EvalRecord(
            sample_id=f"{intent}-{case}",
            query=f"{intent}-{case}",
            intent_l1=f"L{intent // 10}",
            intent_l2=str(intent),
            intent_pred=str((intent + 1 + int(rng.integers(INTENTS - 1))) % INTENTS if wrong else intent),
        )
        for intent, (size, rate) in enumerate(zip(sizes, rates, strict=True))
        for case, wrong in enumerate(rng.random(size) < rate)
    ]
    return Records.of(rows)


def by_us(run: Records) -> list[int]:
    """The first rows of the tree of intents."""
    tree = intent_tree(digest(Run("simulated", run, [compute(run)])), metric="intent_top1")
    return [int(row.label) for row in tree.leaves[:ROWS]]


def by_accuracy(run: Records) -> list[int]:
    """The intents with the lowest accuracy, larger ones first where it is equal."""
    wrong = np.array([record.intent_pred != record.intent_l2 for record in run])
    labels = np.array([int(record.intent_l2 or 0) for record in run])
    n = np.bincount(labels, minlength=INTENTS)
    accuracy = 1 - np.bincount(labels, weights=wrong, minlength=INTENTS) / n
    return np.lexsort((np.arange(INTENTS), -n, accuracy))[:ROWS].tolist()


def won(chosen: Sequence[int], sizes: NDArray[np.int64], rates: Floats) -> float:
    """What mending the chosen intents truly wins, as a share of what the best five would."""
    worth = sizes * rates
    return float(worth[list(chosen)].sum() / np.sort(worth)[-ROWS:].sum())


def main() -> None:
    """Print both measures for both rankings, with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=200, help="how many sets to plant faults in")
    sets = parser.parse_args().sets
    rng = np.random.default_rng(SEED)
    found: dict[str, list[tuple[float, float]]] = {
        "lower bound of recoverable points": [],
        "plain accuracy": [],
    }
    for _ in range(sets):
        sizes, rates, broken = planted(rng)
        run = records(sizes, rates, rng)
        for name, chosen in zip(found, (by_us(run), by_accuracy(run)), strict=True):
            found[name].append((len(broken & set(chosen)) / ROWS, won(chosen, sizes, rates)))
    print(f"{sets} sets, {INTENTS} intents of {FEWEST} to {MOST} cases, {FAULTS} planted faults, seed {SEED}")
    print(
        "| ranked by | planted faults among the first five | of the most that five can win |\n|---|---:|---:|"
    )
    for name, pairs in found.items():
        means, errors = np.mean(pairs, axis=0), np.std(pairs, axis=0) / np.sqrt(sets)
        cells = [f"{mean:.1%} ± {error:.1%}" for mean, error in zip(means, errors, strict=True)]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
