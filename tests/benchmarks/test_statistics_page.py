"""The page on statistics says what the benchmarks print, and the benchmarks show what they promise."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def benchmark() -> Callable[[str], ModuleType]:
    """A benchmark as a module, by its name."""

    def load(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(f"benchmark_{name}", ROOT / "benchmarks" / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def page() -> str:
    return (ROOT / "docs" / "statistics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("n", [10, 20, 50, 200])
def test_wilson_s_interval_holds_95_percent_on_average(benchmark, n: int) -> None:
    intervals = benchmark("intervals")
    found = [intervals.wilson_coverage(float(rate), n) for rate in intervals.RATES]
    assert 0.93 <= np.mean(found) <= 0.97
    assert f"| {n} | {np.mean(found):.1%} | {min(found):.1%} | {max(found):.1%} |" in page()


def test_the_default_gate_seldom_cries_wolf(benchmark) -> None:
    """Of 600 null pairs at most 5.5 in 100, and the page has the figure of 10,000."""
    simulation = benchmark("gate_simulation")
    rng = np.random.default_rng(1)
    assert simulation.false_alarms(600, rng) <= 33
    told = re.search(r"false alarms: (\d+) of 10,000", page())
    assert told is not None
    assert int(told[1]) <= 550


def test_the_quick_way_to_a_verdict_is_the_gate_s(benchmark) -> None:
    simulation = benchmark("gate_simulation")
    assert sum(simulation.whole_gate(5, np.random.default_rng(2)).values()) == 5


def test_the_gate_sees_what_is_there(benchmark) -> None:
    simulation = benchmark("gate_simulation")
    rng = np.random.default_rng(3)
    assert simulation.power_of_slice(30, 0.8, 20, rng) == 1.0
    assert simulation.power_overall(0.3, 10, rng) == 1.0


def test_what_five_rows_win_is_more_than_plain_accuracy_s(benchmark) -> None:
    """Faults by traffic, a rise of 20 to 40 points: more of them named, and more won."""
    ours, theirs = benchmark("fix_first").measured(25, (0.2, 0.4), by_traffic=True).values()
    assert np.mean(ours, axis=0)[0] > np.mean(theirs, axis=0)[0]
    assert np.mean(ours, axis=0)[1] > np.mean(theirs, axis=0)[1]
