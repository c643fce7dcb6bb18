"""How often a 95 % interval holds the truth: Wilson's for rates, the bootstrap's for scores between 0 and 1.

Run `python benchmarks/intervals.py`. The coverage of Wilson's interval is summed exactly over all outcomes, for rates
of 0.05 to 0.95. The bootstrap's is simulated with a fixed seed, over scores whose mean is 0.05 to 0.95: completion
of five slots, any share at all, reciprocal ranks, and rates of cases that were each asked three times.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evalkit.stats import mean_interval, wilson

Floats = NDArray[np.float64]
Sample = tuple[Floats, NDArray[np.int64] | None]
SIZES = (10, 20, 50, 200)
RATES = np.arange(0.05, 0.9501, 0.01)
MEANS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95)
SEED = 20_260_826


def wilson_coverage(rate: float, n: int) -> float:
    """The chance that the interval of a binomial count holds `rate`."""
    counts = np.arange(n + 1)
    interval = wilson(counts, np.full(n + 1, n))
    held = (interval.low <= rate) & (rate <= interval.high)
    logs = [_log_binomial(n, int(k), rate) for k in counts[held]]
    return math.fsum(math.exp(log) for log in logs)


def _log_binomial(n: int, k: int, rate: float) -> float:
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(rate) + (n - k) * math.log1p(-rate)


def fifths(rng: np.random.Generator, mean: float, size: int) -> Sample:
    """Completion of five slots, each filled with the same chance."""
    return rng.binomial(5, mean, size=size) / 5, None


def shares(rng: np.random.Generator, mean: float, size: int) -> Sample:
    """Any share from 0 to 1, mostly near its ends."""
    return rng.beta(2 * mean, 2 * (1 - mean), size=size), None


def ranks(rng: np.random.Generator, mean: float, size: int) -> Sample:
    """Reciprocal ranks: nothing, or 1, a half or a third, as often as that mean asks for, up to 0.95."""
    found = (
        rng.choice([1.0, 1 / 2, 1 / 3], p=RANKS / RANKS.sum(), size=size) if mean <= MOST else np.ones(size)
    )
    return found * (rng.random(size) < mean / (MOST if mean <= MOST else 1.0)), None


def repeats(rng: np.random.Generator, mean: float, size: int) -> Sample:
    """Right or wrong, each case asked three times: a case has a chance of its own."""
    chances = rng.beta(2 * mean, 2 * (1 - mean), size=size)
    return rng.binomial(1, np.repeat(chances, 3)).astype(np.float64), np.repeat(np.arange(size), 3)


RANKS = np.array([0.7, 0.2, 0.1])
MOST = float(RANKS @ [1, 1 / 2, 1 / 3])
SCORES: dict[str, Callable[[np.random.Generator, float, int], Sample]] = {
    "five slots": fifths,
    "any share": shares,
    "reciprocal ranks": ranks,
    "three repeats": repeats,
}


def bootstrap_coverage(name: str, mean: float, n: int, *, trials: int) -> float:
    """The share of samples of n cases whose interval holds their true mean."""
    rng = np.random.default_rng(SEED)
    held = 0
    for _ in range(trials):
        values, clusters = SCORES[name](rng, mean, n)
        low, high = mean_interval(values, is_rate=False, clusters=clusters)
        held += low is not None and high is not None and low <= mean <= high
    return held / trials


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400, help="samples a cell of the bootstrap's table")
    trials = parser.parse_args().trials
    print(f"Wilson, exact, over rates {RATES[0]:.2f} to {RATES[-1]:.2f} in steps of 0.01")
    print("| n | mean | smallest | largest |\n|---:|---:|---:|---:|")
    for n in SIZES:
        found = [wilson_coverage(float(rate), n) for rate in RATES]
        print(f"| {n} | {np.mean(found):.1%} | {min(found):.1%} | {max(found):.1%} |")
    cells = len(SCORES) * len(MEANS)
    print(f"\nBootstrap, {trials:,} samples a cell, {cells} cells a row, seed {SEED}")
    print("| n | mean | smallest | where | 0.2 to 0.8: mean | smallest |\n|---:|---:|---:|---|---:|---:|")
    for n in SIZES:
        seen = {(name, m): bootstrap_coverage(name, m, n, trials=trials) for name in SCORES for m in MEANS}
        name, mean = min(seen, key=seen.__getitem__)
        middle = [found for (_, m), found in seen.items() if 0.2 <= m <= 0.8]
        print(
            f"| {n} | {np.mean(list(seen.values())):.1%} | {seen[name, mean]:.1%} | {name}, mean {mean:g} "
            f"| {np.mean(middle):.1%} | {min(middle):.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
