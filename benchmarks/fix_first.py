"""Does the top of the list name what is broken? Planted faults among 100 intents, ranked in two ways.

Run `python benchmarks/fix_first.py`. Each set has 100 intents of 3 to 30 cases; an intent that is not broken errs
5 times in 100, give or take 2. Five intents are broken: their error rate rises. Which ones is drawn in two ways:
by traffic (an intent with twice the cases is twice as likely to be struck) or any intent alike. The first five
rows of `evalkit fix` (lower bound of the recoverable points) stand against the five intents with the lowest
accuracy, larger ones first where it is equal. Two questions: how many of the five rows are planted faults, and
how much do the five rows truly win of the most that five rows can win?
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
RISES = ((0.2, 0.4), (0.4, 0.6))


def planted(
    rng: np.random.Generator, rise: tuple[float, float], *, by_traffic: bool
) -> tuple[NDArray[np.int64], Floats, set[int]]:
    """The size and the error rate of each intent (100,), and which are broken."""
    sizes = rng.integers(FEWEST, MOST + 1, size=INTENTS)
    rates = rng.beta(5, 95, size=INTENTS)
    weights = sizes / sizes.sum() if by_traffic else None
    broken = rng.choice(INTENTS, size=FAULTS, replace=False, p=weights)
    rates[broken] = np.minimum(1, rates[broken] + rng.uniform(*rise, size=FAULTS))
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


def measured(
    sets: int, rise: tuple[float, float], *, by_traffic: bool
) -> dict[str, list[tuple[float, float]]]:
    """For both rankings, both answers of each set."""
    rng = np.random.default_rng(SEED)
    found: dict[str, list[tuple[float, float]]] = {"recoverable points": [], "plain accuracy": []}
    for _ in range(sets):
        sizes, rates, broken = planted(rng, rise, by_traffic=by_traffic)
        run = records(sizes, rates, rng)
        for name, chosen in zip(found, (by_us(run), by_accuracy(run)), strict=True):
            found[name].append((len(broken & set(chosen)) / ROWS, won(chosen, sizes, rates)))
    return found


def main() -> None:
    """Print both measures for both rankings, with their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=120, help="how many sets to plant faults in, each row")
    sets = parser.parse_args().sets
    print(f"{sets} sets a row, {INTENTS} intents of {FEWEST} to {MOST} cases, {FAULTS} faults, seed {SEED}")
    print(
        "| faults strike | error rate rises by | ranked by | faults among the first five | of what five can win |"
    )
    print("|---|---|---|---:|---:|")
    for by_traffic in (True, False):
        for rise in RISES:
            for name, pairs in measured(sets, rise, by_traffic=by_traffic).items():
                means, errors = np.mean(pairs, axis=0), np.std(pairs, axis=0) / np.sqrt(sets)
                cells = [f"{mean:.1%} ± {error:.1%}" for mean, error in zip(means, errors, strict=True)]
                struck = "by traffic" if by_traffic else "any alike"
                points = f"{100 * rise[0]:.0f}–{100 * rise[1]:.0f} points"
                print(f"| {struck} | {points} | {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
