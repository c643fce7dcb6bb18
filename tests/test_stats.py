"""How sure a number is: golden values with their sources, and scipy wherever it has the same method."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from evalkit.stats import (
    Ranked,
    benjamini_hochberg,
    bootstrap,
    holm,
    mcnemar,
    mean_interval,
    nearest_rank,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    t_quantile,
    wilson,
)

WILSON = [
    (0, 20, 0.0, 0.1611),
    (17, 20, 0.6396, 0.9476),
    (20, 20, 0.8389, 1.0),
    (3, 3, 0.4385, 1.0),
    (1, 2, 0.0945, 0.9055),
    (8, 10, 0.4902, 0.9433),
]
"""Wilson (1927), eq. 5, with z = 1.959964; agrees with R's prop.test(correct = FALSE) to four places."""


@pytest.mark.parametrize(("k", "n", "low", "high"), WILSON)
def test_wilson_gives_the_published_intervals(k: int, n: int, low: float, high: float) -> None:
    interval = wilson(k, n)
    assert round(float(interval.low), 4) == low
    assert round(float(interval.high), 4) == high


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_wilson_is_scipy_s_over_a_grid(confidence: float) -> None:
    for n in (1, 2, 3, 5, 10, 20, 47, 200):
        for k in range(0, n + 1, max(1, n // 20)):
            theirs = scipy_stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
            mine = wilson(k, n, confidence=confidence)
            assert float(mine.low) == pytest.approx(theirs.low, abs=1e-12)
            assert float(mine.high) == pytest.approx(theirs.high, abs=1e-12)


def test_wilson_of_nothing_is_nan_and_of_arrays_an_array() -> None:
    interval = wilson([0, 0, 1], [0, 4, 2])
    assert np.isnan(interval.low[0])
    assert np.isnan(interval.high[0])
    assert interval.low[1] == 0
    assert interval.low.shape == interval.high.shape == (3,)
    assert wilson(1, [2, 4, 8]).low.shape == (3,)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_rate_and_stays_within_0_and_1(counts: tuple[int, int]) -> None:
    k, n = counts
    interval = wilson(k, n)
    assert 0 <= interval.low <= k / n <= interval.high <= 1
    assert interval.low < interval.high


SCORES = [0.0, 0.25, 0.5, 1.0, 1.0, 0.75, 0.3, 0.9, 0.1, 0.6]


def test_the_bootstrap_is_scipy_s_percentile_interval_with_tails_as_far_out_as_student_s() -> None:
    """Both are drawn, so they agree up to the noise of 10,000 draws. Hesterberg (2015): Φ(−√(n/(n−1)) t)."""
    n = len(SCORES)
    tail = scipy_stats.norm.cdf(-math.sqrt(n / (n - 1)) * scipy_stats.t.ppf(0.975, n - 1))
    theirs = scipy_stats.bootstrap(
        (np.array(SCORES),),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        confidence_level=1 - 2 * tail,
        rng=np.random.default_rng(1),
    ).confidence_interval
    mine = bootstrap(SCORES)
    assert float(mine.low) == pytest.approx(theirs.low, abs=0.015)
    assert float(mine.high) == pytest.approx(theirs.high, abs=0.015)


def test_a_bootstrap_of_few_is_wider_than_its_plain_percentiles() -> None:
    """Ten values at 95 %: the tails beyond are 0.86 % each, and not 2.5 %."""
    rng = np.random.default_rng(4)
    means = np.array(SCORES)[rng.integers(0, 10, size=(50_000, 10))].mean(axis=1)
    mine = bootstrap(SCORES)
    assert float(np.mean(means < mine.low)) == pytest.approx(0.0086, abs=0.003)
    assert float(np.mean(means > mine.high)) == pytest.approx(0.0086, abs=0.003)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_student_s_t_is_scipy_s(confidence: float) -> None:
    for df in (1, 2, 3, 4, 5, 9, 10, 19, 49, 120, 199, 998, 999):
        wanted = scipy_stats.t.ppf(0.5 + confidence / 2, df)
        assert t_quantile(confidence, df) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("df", "t"), [(1, 12.706), (2, 4.303), (10, 2.228), (30, 2.042), (120, 1.980)])
def test_student_s_t_by_the_printed_table(df: int, t: float) -> None:
    """Two-sided 5 %: the column of every table of t, for instance Fisher & Yates (1963), table III."""
    assert round(t_quantile(0.95, df), 3) == t


@pytest.mark.parametrize(("confidence", "df"), [(0.0, 5), (1.0, 5), (0.95, 0)])
def test_student_s_t_of_nothing_is_refused(confidence: float, df: int) -> None:
    with pytest.raises(ValueError, match="wanted 0 < confidence < 1 and df ≥ 1"):
        t_quantile(confidence, df)


@pytest.mark.parametrize("scores", [SCORES, SCORES * 20], ids=["distinct", "many equal"])
def test_the_bootstrap_gives_the_same_bytes_in_any_order(scores: list[float]) -> None:
    first = bootstrap(scores)
    for seed in range(5):
        shuffled = random.Random(seed).sample(scores, len(scores))  # noqa: S311 no secret
        again = bootstrap(shuffled)
        assert (first.low.tobytes(), first.high.tobytes()) == (again.low.tobytes(), again.high.tobytes())


def test_repeats_of_one_case_are_drawn_together() -> None:
    """Four copies of each score say no more than one: the interval is that of the cases."""
    labels = np.repeat(np.arange(len(SCORES)), 4)
    clustered = bootstrap(np.repeat(SCORES, 4), clusters=labels)
    single = bootstrap(SCORES)
    naive = bootstrap(np.repeat(SCORES, 4))
    assert float(clustered.low) == pytest.approx(float(single.low), abs=1e-12)
    assert float(naive.low) > float(single.low)


def test_clusters_may_be_named_by_texts_and_differ_in_size() -> None:
    interval = bootstrap([1.0, 1.0, 1.0, 0.0], clusters=["a", "a", "a", "b"])
    assert (float(interval.low), float(interval.high)) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "clusters"),
    [
        ([], None),
        ([0.5], None),
        ([0.5, 0.5, 0.5], None),
        ([0.1, 0.9], ["a", "a"]),
        ([0.1, 0.2, 0.3, 0.3, 0.2, 0.1], ["a", "a", "a", "b", "b", "b"]),
    ],
    ids=["none", "one", "all the same", "one cluster", "clusters of one mean"],
)
def test_values_that_show_no_spread_have_no_bootstrap_interval(
    values: list[float], clusters: list[str] | None
) -> None:
    interval = bootstrap(values, clusters=clusters)
    assert np.isnan(interval.low)
    assert np.isnan(interval.high)


def test_above_a_thousand_clusters_the_normal_interval_stands_in() -> None:
    values = np.random.default_rng(2).random(1_001)
    interval = bootstrap(values)
    low, high = scipy_stats.norm.interval(
        0.95, loc=values.mean(), scale=values.std() / math.sqrt(len(values))
    )
    assert float(interval.low) == pytest.approx(low, abs=1e-12)
    assert float(interval.high) == pytest.approx(high, abs=1e-12)
    drawn = bootstrap(values[:1_000])
    assert float(drawn.low) == pytest.approx(float(interval.low), abs=0.005)


def test_a_rate_has_wilson_s_interval_and_other_means_the_bootstrap_s() -> None:
    rate = [1.0] * 17 + [0.0] * 3
    assert np.array(mean_interval(rate, is_rate=True)) == pytest.approx(np.array(wilson(17, 20)))
    drawn = bootstrap(SCORES)
    assert mean_interval(SCORES, is_rate=False) == (float(drawn.low), float(drawn.high))


def test_a_repeated_rate_is_drawn_by_case() -> None:
    """Ten cases, twice each, that always come out the same way: no narrower than ten cases say."""
    cases = [n // 2 for n in range(20)]
    low, high = mean_interval([1.0, 1.0, 0.0, 0.0] * 5, is_rate=True, clusters=cases)
    assert low is not None
    assert high is not None
    assert low < wilson(10, 20).low < wilson(10, 20).high < high


def test_cases_that_all_come_out_half_right_have_the_interval_of_as_many_cases() -> None:
    cases = [n // 2 for n in range(20)]
    found = mean_interval([1.0, 0.0] * 10, is_rate=True, clusters=cases)
    assert np.array(found) == pytest.approx(np.array(wilson(5, 10)))


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([], (None, None)),
        ([812.0], (None, None)),
        ([-1.0, -1.0], (None, None)),
        ([3.0, 3.0], (None, None)),
        ([1.0, 1.0, 1.0], (0.4385, 1.0)),
        ([0.5, 0.5], (0.0945, 0.9055)),
    ],
    ids=["none", "one latency", "negative", "above one", "all right", "all half"],
)
def test_no_interval_is_of_zero_width(values: list[float], bounds: tuple[float | None, float | None]) -> None:
    found = mean_interval(values, is_rate=False)
    assert tuple(None if bound is None else round(bound, 4) for bound in found) == bounds


@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test_of_a_fair_coin(worse: int, better: int) -> None:
    theirs = scipy_stats.binomtest(worse, worse + better).pvalue if worse + better else 1.0
    assert mcnemar(worse, better) == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize(
    ("worse", "better", "p"), [(0, 0, 1.0), (0, 5, 0.0625), (0, 6, 0.03125), (1, 9, 0.021484375)]
)
def test_mcnemar_by_hand(worse: int, better: int, p: float) -> None:
    """2 · Σ C(n, i) / 2^n: 2/32, 2/64, 2 · (1 + 10)/1024."""
    assert mcnemar(worse, better) == p


def test_mcnemar_of_many_flips_is_exact_and_quick() -> None:
    """Coefficients made anew for each term would take minutes."""
    assert mcnemar(20_000, 20_200) == pytest.approx(scipy_stats.binomtest(20_000, 40_200).pvalue, rel=1e-9)


@given(st.lists(st.integers(-5, 5).map(float), min_size=2, max_size=10))
def test_sign_flip_is_scipy_s_exact_permutation_test(differences: list[float]) -> None:
    mine = sign_flip(differences)
    if not any(differences):
        assert mine == 1.0
        return
    theirs = scipy_stats.permutation_test(
        (np.array(differences),), lambda x: abs(x.sum()), permutation_type="samples", alternative="greater"
    )
    assert mine == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize(
    ("differences", "p"),
    [([], 1.0), ([0.0, 0.0], 1.0), ([1.0] * 5, 2 / 32), ([0.1, 0.2, 0.3], 2 / 8), ([0.1, -0.1], 1.0)],
    ids=["none", "no change", "all better", "ties of binary fractions", "even"],
)
def test_sign_flip_by_hand(differences: list[float], p: float) -> None:
    assert sign_flip(differences) == p


def test_many_pairs_are_drawn_with_the_add_one_rule() -> None:
    """No p value of a drawn test is zero; a drawn one is near the exact one."""
    assert sign_flip([1.0] * 40) == 1 / 20_001
    even = [1.0, -1.0] * 20
    assert sign_flip(even) == 1.0
    mixed = [-1.0, 1.0, 1.0, 1.0, -1.0, 1.0, -1.0, 1.0, 1.0, 1.0] * 2
    exact = scipy_stats.binomtest(14, 20).pvalue
    assert sign_flip(mixed) == pytest.approx(exact, abs=0.01)
    assert {sign_flip(mixed[start:] + mixed[:start]) for start in range(20)} == {sign_flip(mixed)}


def test_holm_by_hand() -> None:
    """Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, made to rise: 0.02, 0.03, 0.06, 0.06."""
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_no_tests_need_no_adjustment() -> None:
    assert holm([]).size == 0
    assert benjamini_hochberg([]).size == 0


P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(P_VALUES)
def test_benjamini_hochberg_is_scipy_s(p: list[float]) -> None:
    assert benjamini_hochberg(p).tolist() == pytest.approx(scipy_stats.false_discovery_control(p).tolist())


@given(P_VALUES)
def test_holm_is_the_smallest_that_keeps_the_order_and_bonferroni_s_bound(p: list[float]) -> None:
    adjusted = holm(p)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
    assert np.all(adjusted >= np.array(p) - 1e-15)
    assert np.all(adjusted <= np.minimum(1, np.array(p) * len(p)).max())
    assert adjusted[order[0]] == min(1.0, p[order[0]] * len(p))


@pytest.mark.parametrize(
    ("n", "q", "rank"),
    [
        (0, 0.5, None),
        (1, 0.5, 1),
        (2, 0.5, 1),
        (3, 0.5, 2),
        (9, 0.9, None),
        (10, 0.9, 9),
        (11, 0.9, 10),
        (19, 0.95, None),
        (20, 0.95, 19),
        (99, 0.99, None),
        (100, 0.99, 99),
        (1_000, 0.99, 990),
    ],
)
def test_a_quantile_is_one_of_the_values_or_nothing(n: int, q: float, rank: int | None) -> None:
    """Hyndman & Fan (1996), type 1: the smallest value with at least a share q at or below it."""
    values = random.Random(n).sample(range(1, n + 1), n)  # noqa: S311 no secret
    assert nearest_rank(values, q) == rank
    if rank is not None:
        assert rank == np.quantile(np.arange(1, n + 1), q, method="inverted_cdf")


@pytest.mark.parametrize(
    ("n", "successes", "k", "at", "hat"),
    [
        (5, 2, 2, 0.7, 0.1),
        (5, 0, 3, 0.0, 0.0),
        (5, 5, 3, 1.0, 1.0),
        (4, 3, 2, 1.0, 0.5),
        (3, 1, 1, 1 / 3, 1 / 3),
        (2, 1, 3, None, None),
    ],
)
def test_pass_at_k_and_pass_hat_k_by_hand(
    n: int, successes: int, k: int, at: float | None, hat: float | None
) -> None:
    """1 − C(n−c, k)/C(n, k) and C(c, k)/C(n, k): 1 − 3/10 and 1/10 in the first row."""
    assert pass_at_k(n, successes, k) == (None if at is None else pytest.approx(at))
    assert pass_hat_k(n, successes, k) == (None if hat is None else pytest.approx(hat))


@given(
    st.lists(st.lists(st.floats(allow_nan=False), max_size=8).map(np.array), min_size=1, max_size=5),
    st.data(),
)
def test_a_value_is_at_its_place_without_all_being_held(
    pieces: list[np.ndarray], data: st.DataObject
) -> None:
    pieces = [piece.astype(np.float64) for piece in pieces]
    in_order = sorted(np.concatenate(pieces).tolist())
    ranked = Ranked()
    for piece in pieces:
        ranked.count(piece)
    assert ranked.n == len(in_order)
    places = data.draw(st.sets(st.integers(0, len(in_order) - 1))) if in_order else set()
    ranked.want(places)
    for piece in reversed(pieces):
        ranked.keep(piece)
    assert {place: ranked.at(place) for place in places} == {place: in_order[place] for place in places}
