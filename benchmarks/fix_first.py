"""Does the top of the list name what is broken? Planted faults among 100 intents, ranked in two ways.

Run `python benchmarks/fix_first.py`. In the first sets an intent has 3 to 30 cases and errs 5 times in 100, give or
take 2, where it is not broken. Five intents are broken: their error rate rises. Which ones is drawn in two ways:
by traffic (an intent with twice the cases is twice as likely to be struck) or any intent alike. Further sets have
small intents only, large ones, a long tail of small ones behind few large ones, or a target that errs 15 times in
100. The first five rows of the tree of `evalkit fix` stand against the five intents with the lowest accuracy,
larger ones first where it is equal. Two questions: how many of the five rows are planted faults, and how much do
the five rows truly win of the most that five rows can win? The ranks are those that the tree goes by; on the first
sets of each kind the tree itself is made, and must say the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.metrics.intent import compute
from evalkit.records import Records
from evalkit.report.digest import Run, digest
from evalkit.report.excess import excess
from evalkit.report.gains import gain
from evalkit.report.intent_tree import intent_tree

Floats = NDArray[np.float64]

INTENTS, FAULTS, ROWS = 100, 5, 5
HELD = 2
SEED = 20_260_826


class Design(NamedTuple):
    """How sets are made: sizes and usual error rates of the intents, rise of the error rate, and who is struck."""

    name: str
    sizes: Callable[[np.random.Generator], NDArray[np.int64]]
    rise: tuple[float, float]
    by_traffic: bool
    usual: tuple[float, float] = (5, 95)


def between(fewest: int, most: int) -> Callable[[np.random.Generator], NDArray[np.int64]]:
    """Any size from `fewest` to `most` alike."""
    return lambda rng: rng.integers(fewest, most + 1, size=INTENTS)


def long_tail(_: np.random.Generator) -> NDArray[np.int64]:
    """200 cases of the first intent, half of them of the third, 5 of the last."""
    return np.maximum(3, 200 / np.arange(1, INTENTS + 1) ** 0.8).astype(np.int64)


DESIGNS = [
    Design("3 to 30 cases", between(3, 30), rise, by_traffic)
    for by_traffic in (True, False)
    for rise in ((0.1, 0.3), (0.2, 0.4), (0.4, 0.6), (0.6, 0.9))
] + [
    Design(name, sizes, (0.2, 0.5), by_traffic, usual)
    for name, sizes, usual in (
        ("3 to 10 cases", between(3, 10), (5, 95)),
        ("10 to 100 cases", between(10, 100), (5, 95)),
        ("long tail", long_tail, (5, 95)),
        ("3 to 30 cases, 15 % errors", between(3, 30), (6, 34)),
    )
    for by_traffic in (True, False)
]


def planted(rng: np.random.Generator, design: Design) -> tuple[NDArray[np.int64], Floats, set[int]]:
    """The size and the error rate of each intent (100,), and which are broken."""
    sizes = design.sizes(rng)
    rates = rng.beta(*design.usual, size=INTENTS)
    weights = sizes / sizes.sum() if design.by_traffic else None
    broken = rng.choice(INTENTS, size=FAULTS, replace=False, p=weights)
    rates[broken] = np.minimum(1, rates[broken] + rng.uniform(*design.rise, size=FAULTS))
    return sizes, rates, set(broken.tolist())


def drawn(sizes: NDArray[np.int64], rates: Floats, rng: np.random.Generator) -> list[Floats]:
    """One run: the losses of the cases of each intent, 0 or 1."""
    return [(rng.random(size) < rate).astype(np.float64) for size, rate in zip(sizes, rates, strict=True)]


def by_us(losses: Sequence[Floats]) -> list[int]:
    """The first rows by the two functions that the tree ranks by."""
    whole = np.concatenate(losses)
    ends = np.cumsum([len(part) for part in losses])
    ranks = []
    for label, (part, end) in enumerate(zip(losses, ends, strict=True)):
        rest = np.concatenate([whole[: end - len(part)], whole[end:]])
        beyond = excess(part, rest, share=len(part) / len(whole))
        won = gain(part, whole=len(whole), cases=np.arange(len(part)))
        ranks.append((beyond.rank, won.rank, str(label)))
    return sorted(range(len(losses)), key=ranks.__getitem__)[:ROWS]


def by_the_tree(losses: Sequence[Floats]) -> list[int]:
    """The first rows of the tree itself, from records; a wrong case is taken for the next intent."""
    rows = [
        EvalRecord(
            sample_id=f"{intent}-{case}",
            query=f"{intent}-{case}",
            intent_l1="L",
            intent_l2=str(intent),
            intent_pred=str(intent + 1 if wrong else intent),
        )
        for intent, part in enumerate(losses)
        for case, wrong in enumerate(part.tolist())
    ]
    run = Records.of(rows)
    tree = intent_tree(digest(Run("simulated", run, [compute(run)])), metric="intent_top1")
    return [int(row.label) for row in tree.leaves[:ROWS]]


def by_accuracy(losses: Sequence[Floats]) -> list[int]:
    """The intents with the lowest accuracy, larger ones first where it is equal."""
    ranks = [(-part.mean(), -len(part)) for part in losses]
    return sorted(range(len(losses)), key=ranks.__getitem__)[:ROWS]


def won(chosen: Sequence[int], sizes: NDArray[np.int64], rates: Floats) -> float:
    """What mending the chosen intents truly wins, as a share of what the best five would."""
    worth = sizes * rates
    return float(worth[list(chosen)].sum() / np.sort(worth)[-ROWS:].sum())


def measured(sets: int, design: Design) -> Floats:
    """Both answers of each set for both rankings: (sets, ranking, answer)."""
    rng = np.random.default_rng(SEED)
    found = []
    for number in range(sets):
        sizes, rates, broken = planted(rng, design)
        losses = drawn(sizes, rates, rng)
        ours, theirs = by_us(losses), by_accuracy(losses)
        assert number >= HELD or ours == by_the_tree(losses)
        found.append(
            [(len(broken & set(chosen)) / ROWS, won(chosen, sizes, rates)) for chosen in (ours, theirs)]
        )
    return np.array(found)


def row(design: Design, found: Floats) -> str:
    """A row of the table: both rankings, and by how much the first names more, with its standard error."""
    ours, theirs = found[:, 0].mean(axis=0), found[:, 1].mean(axis=0)
    more = 100 * (found[:, 0, 0] - found[:, 1, 0])
    struck = "by traffic" if design.by_traffic else "any alike"
    points = f"{100 * design.rise[0]:.0f}–{100 * design.rise[1]:.0f}"
    gap = f"{more.mean():+.1f} ± {more.std() / np.sqrt(len(more)):.1f}"
    named = f"{ours[0]:.1%} | {theirs[0]:.1%} | {gap}"
    return f"| {design.name} | {struck} | {points} | {named} | {ours[1]:.1%} | {theirs[1]:.1%} |"


def main() -> None:
    """Print both measures for both rankings, and the difference of the first with its standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=300, help="how many sets to plant faults in, each row")
    sets = parser.parse_args().sets
    print(f"{sets} sets a row, {INTENTS} intents, {FAULTS} faults, seed {SEED}")
    print(
        "| intents | struck | rise, points | faults named: fix first | plain accuracy | difference "
        "| of what five can win: fix first | plain accuracy |"
    )
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for design in DESIGNS:
        print(row(design, measured(sets, design)), flush=True)


if __name__ == "__main__":
    main()
