"""How often a 95 % interval holds the truth: Wilson's for rates, the bootstrap's for scores between 0 and 1.

Run `python benchmarks/intervals.py`. The coverage of Wilson's interval is summed exactly over all outcomes; the
bootstrap's is simulated, with a fixed seed, over recall-like scores in steps of a half and of a fifth.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from evalkit.stats import mean_interval, wilson

Floats = NDArray[np.float64]
SIZES = (10, 20, 50, 200)
RATES = np.arange(0.05, 0.9501, 0.01)
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


def thirds(rng: np.random.Generator, size: int) -> Floats:
    """Recall of two documents: 0, a half or 1, mostly 1."""
    return rng.choice([0.0, 0.5, 1.0], p=[0.15, 0.25, 0.6], size=size)


def fifths(rng: np.random.Generator, size: int) -> Floats:
    """Completion of five slots, each filled 7 times in 10."""
    return rng.binomial(5, 0.7, size=size) / 5


def reciprocal_ranks(rng: np.random.Generator, size: int) -> Floats:
    """Reciprocal ranks: 1, a half, a third, a fifth or nothing."""
    return rng.choice([1, 1 / 2, 1 / 3, 1 / 5, 0.0], p=[0.55, 0.15, 0.1, 0.05, 0.15], size=size)


SCORES: dict[str, tuple[Callable[[np.random.Generator, int], Floats], float]] = {
    "0, 1/2, 1": (thirds, 0.725),
    "fifths": (fifths, 0.7),
    "reciprocal ranks": (reciprocal_ranks, 0.55 + 0.075 + 0.1 / 3 + 0.01),
}


def bootstrap_coverage(name: str, n: int, *, trials: int) -> float:
    """The share of samples of n scores whose interval holds their true mean."""
    draw, mean = SCORES[name]
    rng = np.random.default_rng(SEED)
    held = 0
    for _ in range(trials):
        low, high = mean_interval(draw(rng, n), is_rate=False)
        held += low is not None and high is not None and low <= mean <= high
    return held / trials


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2_000, help="samples a cell of the bootstrap's table")
    trials = parser.parse_args().trials
    print(f"Wilson, exact, over rates {RATES[0]:.2f} to {RATES[-1]:.2f} in steps of 0.01")
    print("| n | mean | smallest | largest |\n|---:|---:|---:|---:|")
    for n in SIZES:
        found = [wilson_coverage(float(rate), n) for rate in RATES]
        print(f"| {n} | {np.mean(found):.1%} | {min(found):.1%} | {max(found):.1%} |")
    print(f"\nBootstrap, {trials:,} samples a cell, seed {SEED}")
    print("| scores | " + " | ".join(f"n = {n}" for n in SIZES) + " |\n|---|" + "---:|" * len(SIZES))
    for name in SCORES:
        cells = [f"{bootstrap_coverage(name, n, trials=trials):.1%}" for n in SIZES]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
