"""Recoverable points: errors over all samples, with an interval, ranked by its lower end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, false_discovery_control, fisher_exact, hypergeom

from evalkit.report.gains import Gain, gain
from evalkit.report.significance import hypergeometric_tail, worse_than_rest
from evalkit.stats import benjamini_hochberg


def losses(wrong: int, n: int) -> list[float]:
    return [1.0] * wrong + [0.0] * (n - wrong)


def test_a_gain_is_errors_over_all_samples_with_wilson_s_interval_to_scale() -> None:
    """40 of 100 in a run of 400: 10 points, and scipy's Wilson interval of 40/100 times a quarter."""
    found = gain(losses(40, 100), whole=400, cases=range(100))
    wanted = binomtest(40, 100).proportion_ci(method="wilson")
    assert found == pytest.approx((0.1, wanted.low / 4, wanted.high / 4))


def test_one_of_two_does_not_stand_above_forty_of_a_hundred() -> None:
    few, many = (gain(losses(k, n), whole=102, cases=range(n)) for k, n in ((1, 2), (40, 100)))
    assert sorted([few, many], key=lambda each: each.rank) == [many, few]


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.integers(0, 500))
def test_the_gain_lies_in_its_interval_and_within_its_part(counts: tuple[int, int], others: int) -> None:
    wrong, n = counts
    found = gain(losses(wrong, n), whole=n + others, cases=range(n))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value + 1e-12
    assert found.value <= found.high + 1e-12
    assert found.high <= n / (n + others) + 1e-12


def test_repeats_of_a_case_make_no_surer_gain() -> None:
    once = gain(losses(3, 10), whole=10, cases=range(10))
    often = gain(losses(12, 40), whole=40, cases=[n // 4 for n in range(40)])
    assert often.value == once.value
    assert often.low is not None
    assert often.low < gain(losses(12, 40), whole=40, cases=range(40)).low


def test_nothing_at_risk_wins_nothing() -> None:
    assert gain([], whole=10, cases=[]) == Gain(0.0, None, None)
    assert gain([], whole=10, cases=[]).told == "+0.0 points"


def test_a_gain_in_words() -> None:
    assert Gain(0.021, 0.009, 0.04).told == "+2.1 points (0.9–4.0)"


@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_worse_than_the_rest_is_fisher_s_exact_test(m: int, n: int, data: st.DataObject) -> None:
    inside, outside = data.draw(st.integers(0, m)), data.draw(st.integers(0, n))
    table = [[inside, m - inside], [outside, n - outside]]
    wanted = fisher_exact(table, alternative="greater").pvalue
    assert worse_than_rest(losses(inside, m), losses(outside, n)) == pytest.approx(wanted, rel=1e-9)


def test_scores_between_0_and_1_are_shuffled() -> None:
    """Half points are the same test on twice the scale: near Fisher's p, never 0, the same each time."""
    part, rest = [0.5] * 6 + [0.0] * 4, [0.5] * 4 + [0.0] * 36
    exact = fisher_exact([[6, 4], [4, 36]], alternative="greater").pvalue
    found = worse_than_rest(part, rest)
    assert found is not None
    assert found == pytest.approx(exact, abs=0.002)
    assert found == worse_than_rest(part, rest)
    assert worse_than_rest([0.5] * 30, [0.1] * 300) == 1 / 10_001


def test_nobody_is_worse_than_nobody() -> None:
    assert worse_than_rest([1.0], []) is None
    assert worse_than_rest([], [1.0]) is None


def test_the_tail_of_large_numbers_is_finite() -> None:
    wanted = hypergeom.sf(59, 100_000, 8_000, 500)
    assert hypergeometric_tail(60, drawn=500, errors=8_000, whole=100_000) == pytest.approx(wanted, rel=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_q_values_are_scipy_s(p: list[float]) -> None:
    assert benjamini_hochberg(p).tolist() == pytest.approx(false_discovery_control(p).tolist())
