"""The page on statistics says what the benchmarks print, and the benchmarks show what they promise."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


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


def test_the_rows_to_fix_first_name_more_faults_than_plain_accuracy(benchmark) -> None:
    """Faults by traffic, a rise of 20 to 40 points: more of them named, and more won; the page has all kinds of sets."""
    fix_first = benchmark("fix_first")
    design = next(each for each in fix_first.DESIGNS if each.by_traffic and each.rise == (0.2, 0.4))
    ours, theirs = fix_first.measured(25, design).mean(axis=0)
    assert ours[0] > theirs[0]
    assert ours[1] > theirs[1]
    for each in fix_first.DESIGNS:
        struck = "by traffic" if each.by_traffic else "any alike"
        assert f"| {each.name} | {struck} | {100 * each.rise[0]:.0f}–{100 * each.rise[1]:.0f} |" in page()


@pytest.mark.parametrize("name", ["five slots", "any share", "reciprocal ranks", "three repeats"])
def test_the_bootstrap_s_scores_have_the_mean_they_say(benchmark, name: str) -> None:
    intervals = benchmark("intervals")
    for mean in intervals.MEANS:
        values, _ = intervals.SCORES[name](np.random.default_rng(7), mean, 40_000)
        assert np.mean(values) == pytest.approx(mean, abs=0.01)
        assert values.min() >= 0
        assert values.max() <= 1


def test_the_bootstrap_holds_the_truth_where_cases_are_few(benchmark) -> None:
    """Ten cases, five slots: plain percentiles hold it 92 times in 100."""
    assert benchmark("intervals").bootstrap_coverage("five slots", 0.65, 10, trials=400) >= 0.93


def test_the_gate_decides_over_files_as_over_scores_in_memory(benchmark, tmp_path: Path) -> None:
    cost = benchmark("gate_cost")
    base, run = (
        cost.of_run(cost.on_file(tmp_path, name, cost.records(300, 5, seed)), metrics=cost.POLICY.metrics)
        for name, seed in (("base", 1), ("run", 2))
    )
    verdict = cost.gate(run, base=base, policy=cost.POLICY, today=cost.TODAY)
    assert {check.metric for check in verdict.checks} > {"intent_top1", "recall@5", "mrr@10"}
