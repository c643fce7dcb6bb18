"""The known ways to be wrong about how sure a number is, one by one."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from evalkit.planning import detectable_difference, smallest_p
from evalkit.stats import (
    benjamini_hochberg,
    bootstrap,
    holm,
    mcnemar,
    mean_interval,
    pass_at_k,
    pass_hat_k,
    sign_flip,
    wilson,
)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 20])
def test_no_rate_of_one_is_certain(n: int) -> None:
    """Wald's interval of n right of n is [1, 1]; Wilson's is as wide as z² / (n + z²)."""
    interval = wilson(n, n)
    assert float(interval.high - interval.low) == pytest.approx(3.8415 / (n + 3.8415), abs=1e-4)


@pytest.mark.parametrize("values", [[], [412.0]], ids=["none", "one"])
def test_fewer_than_two_values_have_no_bootstrap_interval(values: list[float]) -> None:
    assert mean_interval(values, is_rate=False) == (None, None)


def test_four_better_pairs_cannot_reach_five_percent() -> None:
    """2 / 2^4 = 0.125, and that is said before anybody asks."""
    assert sign_flip([0.1, 0.2, 0.3, 0.4]) == 0.125
    assert smallest_p(4) == 0.125


@given(st.lists(st.floats(-1, 1), min_size=17, max_size=60))
def test_no_drawn_p_is_zero(differences: list[float]) -> None:
    assert sign_flip(differences, draws=200) >= 1 / 201


@given(st.lists(st.integers(-3, 3).map(lambda n: n / 7), max_size=40))
def test_equal_runs_never_differ(scores: list[float]) -> None:
    assert sign_flip(np.array(scores) - np.array(scores)) == 1.0


@pytest.mark.parametrize(("worse", "better", "p"), [(8, 2, 0.1094), (2, 8, 0.1094), (1, 0, 1.0), (0, 0, 1.0)])
def test_mcnemar_of_few_flips(worse: int, better: int, p: float) -> None:
    """2 · (1 + 10 + 45) / 1024 = 0.1094; one flip says nothing, none says nothing either."""
    assert round(mcnemar(worse, better), 4) == p


def test_ten_ones_are_not_certain() -> None:
    """A bootstrap of a constant has no width; the interval says what ten cases can say."""
    assert np.isnan(bootstrap([1.0] * 10).low)
    low, high = mean_interval([1.0] * 10, is_rate=False)
    assert low == pytest.approx(scipy_stats.binomtest(10, 10).proportion_ci(method="wilson").low)
    assert high == 1.0


def test_holm_of_five() -> None:
    """0.01 · 5, 0.02 · 4, 0.03 · 3, then no smaller than before: R's p.adjust(method = "holm") gives the same."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.5]).tolist() == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.5])


def test_benjamini_hochberg_of_the_paper() -> None:
    """The fifteen p values of Benjamini & Hochberg (1995), section 4.1: four are found at 5 %, three by Bonferroni."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
    p += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert int(np.sum(benjamini_hochberg(p) <= 0.05)) == 4
    assert int(np.sum(np.array(p) * len(p) <= 0.05)) == 3


def test_repeats_do_not_make_a_number_surer() -> None:
    """Ten cases asked five times each: as wide as ten cases, and wider than fifty would be."""
    cases = np.repeat(np.arange(10), 5)
    right = np.repeat([1.0] * 7 + [0.0] * 3, 5)
    low, high = mean_interval(right, is_rate=True, clusters=cases)
    assert low is not None
    assert high is not None
    naive = wilson(35, 50)
    assert high - low > 1.5 * float(naive.high - naive.low)


def test_one_cluster_says_nothing_of_its_spread() -> None:
    assert np.isnan(bootstrap([0.2, 0.9, 0.4], clusters=["a", "a", "a"]).low)


def test_pass_at_k_needs_k_tries() -> None:
    assert pass_at_k(3, 2, 5) is None
    assert pass_hat_k(3, 2, 5) is None


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_pass_at_k_and_pass_hat_k_are_shares_of_all_draws_of_k(tries: tuple[int, int, int]) -> None:
    """pass@k: some of k drawn tries is right; pass^k: all are. Both are hypergeometric shares."""
    n, successes, k = tries
    drawn = scipy_stats.hypergeom(n, successes, k)
    assert pass_at_k(n, successes, k) == pytest.approx(1 - drawn.pmf(0))
    assert pass_hat_k(n, successes, k) == pytest.approx(drawn.pmf(k))


def test_cases_with_unequal_tries_are_each_taken_by_their_own() -> None:
    """3 of 3 and 3 of 5, k = 2: 1 and 3/10, not the share of some common number of tries."""
    assert [pass_hat_k(3, 3, 2), pass_hat_k(5, 3, 2)] == [1.0, pytest.approx(0.3)]


def test_what_twenty_cases_can_show_is_said() -> None:
    """2.8 · √(0.3 / 20): about 34 points."""
    assert detectable_difference(20, discordant=0.3) == pytest.approx(2.8 * (0.3 / 20) ** 0.5, rel=0.01)


@pytest.mark.parametrize("threads", ["1", "2"])
def test_draws_are_the_same_on_any_number_of_threads(threads: str) -> None:
    code = (
        "import numpy as np; from evalkit.stats import bootstrap, sign_flip;"
        "v = np.random.default_rng(3).random(200);"
        "i = bootstrap(v); print(i.low.tobytes().hex(), i.high.tobytes().hex(), sign_flip(v - 0.52).hex())"
    )
    env = os.environ | {
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "PYTHONHASHSEED": threads,
    }
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    values = np.random.default_rng(3).random(200)
    interval = bootstrap(values)
    mine = [interval.low.tobytes().hex(), interval.high.tobytes().hex(), sign_flip(values - 0.52).hex()]
    assert out.stdout.split() == mine
