"""Intervals and tests of paired moves: against published values, brute force, and their own mirror image."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from evalkit.report.paired import mean_move, p_value
from evalkit.stats import bootstrap, mcnemar, sign_flip

moves = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.25, 1.0]), min_size=1, max_size=30)


def flips(worse: int, better: int, n: int) -> np.ndarray:
    return np.array([-1.0] * worse + [1.0] * better + [0.0] * (n - worse - better))


@pytest.mark.parametrize(
    ("worse", "better", "p"),
    [
        pytest.param(6, 0, 0.03125, id="6 and 0: 2 / 2^6"),
        pytest.param(5, 0, 0.0625, id="5 and 0: 2 / 2^5"),
        pytest.param(8, 2, 0.109375, id="8 and 2: 2 * 56 / 2^10"),
        pytest.param(2, 0, 0.5, id="2 and 0"),
        pytest.param(0, 0, 1.0, id="none"),
        pytest.param(1, 0, 1.0, id="one"),
    ],
)
def test_rates_go_by_exact_mcnemar(worse: int, better: int, p: float) -> None:
    """Binomial tails by hand; the cases that did not move change nothing."""
    for n in (worse + better, worse + better + 90):
        assert p_value(flips(worse, better, n), is_rate=True, flips=100) == p


@pytest.mark.parametrize(("worse", "better"), [(50, 30), (1_200, 1_100), (50_000, 50_400)])
def test_mcnemar_is_scipys_binomial_test_at_any_size(worse: int, better: int) -> None:
    wanted = scipy_stats.binomtest(worse, worse + better).pvalue
    assert mcnemar(worse, better) == pytest.approx(wanted, rel=1e-9)


def test_other_scores_go_by_all_sign_patterns() -> None:
    moved = np.array([-0.5, -0.25, 0.1, -0.75, 0.0])
    sums = [
        sum(s * m for s, m in zip(signs, moved, strict=True))
        for signs in itertools.product((1, -1), repeat=5)
    ]
    wanted = np.mean(np.abs(sums) >= abs(moved.sum()) - 1e-12)
    assert p_value(moved, is_rate=False, flips=100) == pytest.approx(wanted)


@pytest.mark.parametrize("n", [17, 20])
def test_drawn_sign_patterns_agree_with_all_of_them(n: int) -> None:
    """They are within four standard errors of the exact p: those of 200,000 draws, or of the 1,000th that is as far out."""
    moved = np.random.default_rng(n).normal(0.3, 1, n)
    patterns = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    exact = float(np.mean(np.abs(patterns @ moved) >= abs(moved.sum()) - 1e-12))
    error = max(np.sqrt(exact / 200_000), exact * np.sqrt((1 - exact) / 1_000))
    assert sign_flip(moved, draws=200_000) == pytest.approx(exact, abs=4 * error)


def test_drawn_sign_patterns_of_whole_flips_agree_with_mcnemar() -> None:
    assert sign_flip(flips(25, 10, 40), draws=200_000) == pytest.approx(mcnemar(25, 10), abs=0.002)


@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_resamples_of_distinct_values_agree_with_the_normal_interval(spread: float) -> None:
    """900 values: percentile and normal interval of the mean are the same within a twentieth of its width."""
    values = np.random.default_rng(3).normal(0.2, spread, 900)
    half = 1.959964 * values.std() / 30
    interval = bootstrap(values)
    assert interval.low == pytest.approx(values.mean() - half, abs=half / 10)
    assert interval.high == pytest.approx(values.mean() + half, abs=half / 10)


@given(moves, st.randoms(use_true_random=False))
def test_the_order_of_the_moves_changes_nothing(moved: list[float], chance: object) -> None:
    shuffled = list(moved)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = np.array(moved), np.array(shuffled)
    assert mean_move(one, bounded=True, draws=1_000) == mean_move(other, bounded=True, draws=1_000)
    assert p_value(one, is_rate=False, flips=500) == p_value(other, is_rate=False, flips=500)


@given(moves)
def test_mirrored_moves_have_the_mirrored_interval_and_the_same_p(moved: list[float]) -> None:
    one, other = np.array(moved), -np.array(moved)
    low, high = mean_move(one, bounded=True, draws=1_000)
    assert mean_move(other, bounded=True, draws=1_000) == (0.0 - high, 0.0 - low)
    assert p_value(one, is_rate=False, flips=500) == p_value(other, is_rate=False, flips=500)


@given(moves)
def test_an_interval_holds_the_mean_and_is_never_of_zero_width(moved: list[float]) -> None:
    data = np.array(moved)
    low, high = mean_move(data, bounded=True, draws=1_000)
    assert -1 <= low <= data.mean() + 1e-9
    assert data.mean() - 1e-9 <= high <= 1
    assert low < high


def test_moves_that_are_all_alike_are_bounded_by_wilson() -> None:
    """20 of 20 unmoved: at most 16.11 % would move (Wilson of 0/20 is [0, 0.1611])."""
    low, high = mean_move(np.zeros(20), bounded=True, draws=1_000)
    assert (low, high) == pytest.approx((-0.1611, 0.1611), abs=5e-5)
    low, high = mean_move(-np.ones(5), bounded=True, draws=1_000)
    assert low == -1
    assert high == pytest.approx(-0.5655 + 0.4345, abs=5e-4)


def test_without_bounds_alike_moves_have_no_interval() -> None:
    assert mean_move(np.zeros(20), bounded=False, draws=1_000) == (None, None)
    assert mean_move(np.array([]), bounded=True, draws=1_000) == (None, None)
