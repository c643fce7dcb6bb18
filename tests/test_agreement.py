"""Agreement statistics against their sources and the field's tools."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from evalkit.agreement import calibration, cohen_kappa, fleiss_kappa, flip_rate, rogan_gladen

# Fleiss' kappa, worked example of the Wikipedia article: 10 subjects, 14 raters, 5 categories; kappa 0.210.
WORKED = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def spread(counts: list[int]) -> list[int]:
    return [label for label, count in enumerate(counts) for _ in range(count)]


def test_fleiss_kappa_of_the_published_example() -> None:
    # P-bar = 0.378, P-bar-e = 0.213: (0.378 - 0.213) / (1 - 0.213) = 0.210
    assert fleiss_kappa([spread(counts) for counts in WORKED]) == pytest.approx(0.210, abs=5e-4)


def test_cohen_kappa_of_the_published_example() -> None:
    # Wikipedia, Cohen's kappa: yes/yes 20, yes/no 5, no/yes 10, no/no 15 gives (0.7 - 0.5) / 0.5 = 0.4
    one = [True] * 25 + [False] * 25
    other = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(one, other) == pytest.approx(0.4)


@pytest.mark.filterwarnings("ignore")
@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=40))
def test_cohen_kappa_is_scikit_learns(pairs: list[tuple[str, str]]) -> None:
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    ours = cohen_kappa(one, other)
    theirs = cohen_kappa_score(one, other) if len({*one, *other}) > 1 else math.nan
    assert (ours is None) == math.isnan(theirs)
    assert ours is None or ours == pytest.approx(theirs, abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("ab")), min_size=1, max_size=30))
def test_fleiss_kappa_is_at_most_1_and_1_only_for_full_agreement(ratings: list[tuple[str, str]]) -> None:
    found = fleiss_kappa(ratings)
    if found is not None:
        assert found <= 1 + 1e-12
        assert (abs(found - 1) < 1e-12) == all(a == b for a, b in ratings)


def test_nothing_to_compare_is_null() -> None:
    assert cohen_kappa([], []) is None
    assert cohen_kappa([1, 1], [1, 1]) is None
    assert fleiss_kappa([]) is None
    assert fleiss_kappa([[1, 1], [1, 1]]) is None
    assert flip_rate([]) is None
    assert flip_rate([[1], []]) is None


def test_ratings_must_be_as_many_for_each() -> None:
    with pytest.raises(ValueError, match="same number"):
        fleiss_kappa([[1, 2], [1, 2, 3]])
    with pytest.raises(ValueError, match="at least 2"):
        fleiss_kappa([[1], [2]])


def test_a_judge_by_coin_has_kappa_near_zero() -> None:
    """J12: noise shows as kappa near 0 and a flip rate near one half."""
    import random

    coin = random.Random(7)  # noqa: S311 - a coin
    first, second = ([coin.random() < 0.5 for _ in range(2000)] for _ in range(2))
    kappa = cohen_kappa(first, second)
    assert kappa is not None
    assert abs(kappa) < 0.06
    assert flip_rate(list(zip(first, second, strict=True))) == pytest.approx(0.5, abs=0.04)


def test_a_judge_is_certified_by_its_lower_bounds() -> None:
    # Wilson at 95 %: 19 of 20 has the lower bound 0.764, 48 of 50 has 0.865 (scipy binomtest, method wilson)
    human = [True] * 20 + [False] * 50
    few = calibration([True] * 19 + [False] + [False] * 48 + [True] * 2, human)
    assert (few.tpr.value, few.tnr.value, few.n) == (0.95, 0.96, 70)
    assert few.tpr.low == pytest.approx(0.7639, abs=1e-4)
    assert few.tnr.low == pytest.approx(0.8654, abs=1e-4)
    assert not few.certified
    many = calibration([True] * 48 + [False] * 2 + [False] * 48 + [True] * 2, [True] * 50 + [False] * 50)
    assert many.certified
    assert many.kappa == pytest.approx(0.92)  # observed 0.96, expected 0.5


def test_labels_of_one_kind_certify_nothing() -> None:
    alone = calibration([True] * 100, [True] * 100)
    assert alone.tnr == (None, None, None, 0)
    assert not alone.certified
    assert alone.corrected(0.9) is None


def test_the_corrected_rate_of_the_published_formula() -> None:
    # (0.6 + 0.8 - 1) / (0.9 + 0.8 - 1) = 0.4 / 0.7
    corrected = rogan_gladen(0.6, tpr=0.9, tnr=0.8)
    assert corrected is not None
    assert corrected == (pytest.approx(4 / 7), False)


def test_a_corrected_rate_outside_its_range_is_clipped_and_says_so() -> None:
    assert rogan_gladen(0.1, tpr=0.9, tnr=0.8) == (0.0, True)
    assert rogan_gladen(1.0, tpr=0.9, tnr=0.8) == (1.0, True)


def test_a_judge_no_better_than_chance_corrects_nothing() -> None:
    assert rogan_gladen(0.5, tpr=0.5, tnr=0.5) is None
    assert rogan_gladen(0.5, tpr=0.3, tnr=0.4) is None


def test_flips_are_counted_among_samples_asked_more_than_once() -> None:
    assert flip_rate([[1, 1, 1], [1, 0, 1], [0], [None, None]]) == pytest.approx(1 / 3)
