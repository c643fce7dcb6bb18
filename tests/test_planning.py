"""How many cases it takes: published figures, and each planner held against the test it plans for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.planning import cases_for_difference, cases_for_width, detectable_difference, smallest_p
from evalkit.stats import mcnemar, wilson


@pytest.mark.parametrize("pairs", range(12))
def test_the_smallest_p_is_that_of_all_pairs_worse(pairs: int) -> None:
    assert smallest_p(pairs) == mcnemar(pairs, 0)


def test_six_moved_pairs_are_the_fewest_that_decide_at_five_percent() -> None:
    """2 / 2^5 = 0.0625 is not enough, 2 / 2^6 = 0.03125 is."""
    assert smallest_p(5) == 0.0625
    assert smallest_p(6) == 0.03125


def test_twenty_cases_show_about_34_points() -> None:
    """Miller (2024), arXiv 2411.00640, section 5: (1.96 + 0.84) · √(0.3 / 20) = 0.343."""
    assert detectable_difference(20, discordant=0.3) == pytest.approx(0.343, abs=5e-4)


def test_three_points_take_about_a_thousand_questions() -> None:
    """The formula of Miller (2024), section 5, by hand: (1.960 + 0.842)² · (1/9) / 0.03² = 968.9."""
    assert cases_for_difference(0.03, discordant=1 / 9) == 969


@pytest.mark.parametrize(("n", "difference"), [(0, None)], ids=["no case"])
def test_nothing_shows_nothing(n: int, difference: float | None) -> None:
    assert detectable_difference(n, discordant=0.3) is difference
    assert cases_for_difference(0.0, discordant=0.3) is None


@given(st.floats(0.001, 0.9), st.floats(0.01, 1.0))
def test_the_two_planners_answer_each_other(difference: float, discordant: float) -> None:
    n = cases_for_difference(difference, discordant=discordant)
    assert n is not None
    shown = detectable_difference(n, discordant=discordant)
    assert shown is not None
    assert shown <= difference * (1 + 1e-9)
    fewer = detectable_difference(n - 1, discordant=discordant)
    assert fewer is None or fewer > difference * (1 - 1e-9)


@given(st.floats(0, 1), st.floats(0.05, 0.9))
def test_the_cases_for_a_width_are_the_fewest(rate: float, width: float) -> None:
    def spread(n: int) -> float:
        interval = wilson(rate * n, n)
        return float(interval.high - interval.low)

    n = cases_for_width(rate, width)
    assert spread(n) <= width
    assert n == 1 or spread(n - 1) > width


def test_a_fifth_of_width_takes_93_cases_at_a_half() -> None:
    """Wilson's width at a half is z / √(n + z²): (1.96 / 0.2)² − 1.96² = 92.2."""
    assert cases_for_width(0.5, 0.2) == 93


def test_planned_differences_are_seen_four_times_in_five() -> None:
    """800 simulated comparisons with exactly as many pairs as were planned for, counted by exact McNemar."""
    rng = np.random.default_rng(7)
    n = cases_for_difference(0.1, discordant=0.2)
    assert n is not None
    draws = rng.multinomial(n, [0.15, 0.05, 0.8], size=800)
    seen = np.mean([mcnemar(int(better), int(worse)) <= 0.05 for better, worse, _ in draws])
    assert 0.72 <= seen <= 0.86
