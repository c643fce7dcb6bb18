"""What changed between two runs, where, and how sure that is."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalkit.errors import UnknownName
from evalkit.report.change import Change
from evalkit.report.compare import Comparison, compare
from evalkit.report.snapshot import MetricFacts, Snapshot

MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]

OPPOSITE = {"better": "worse", "worse": "better", "same": "same", "undecided": "undecided"}


def overall(comparison: Comparison, metric: str = "intent_top1") -> Change:
    change = comparison.of(metric)
    assert change is not None
    return change


def test_means_and_counts_are_of_the_pairs_that_count_in_both(make_run: MakeRun) -> None:
    change = overall(compare(make_run([1, 1, 0, None, 1]), make_run([1, 0, 0, 1, None])))
    assert (change.n_common, change.n_cases, change.lost) == (3, 3, 1)
    assert (change.base_mean, change.run_mean) == (2 / 3, 1 / 3)
    assert change.delta == pytest.approx(-1 / 3)
    assert (change.worse, change.better) == (1, 0)


@pytest.mark.parametrize(
    ("worse", "p", "verdict"),
    [
        pytest.param(6, 0.03125, "worse", id="six flips decide"),
        pytest.param(5, 0.0625, "undecided", id="five cannot"),
        pytest.param(2, 0.5, "undecided", id="two cannot"),
        pytest.param(0, 1.0, "same", id="none"),
    ],
)
@pytest.mark.parametrize("n", [10, 20, 500])
def test_flips_that_all_go_one_way(make_run: MakeRun, worse: int, p: float, verdict: str, n: int) -> None:
    """Exact McNemar, two-sided: 2 / 2^b. `same` only where nothing moved."""
    change = overall(compare(make_run([1] * n), make_run([0] * worse + [1] * (n - worse))))
    assert change.p == p
    assert change.verdict == verdict
    if worse in (2, 5):
        assert change.reason.startswith("too few cases to decide")
        assert f"{p:g} at best" in change.reason


@pytest.mark.parametrize("worse", [0, 6])
def test_no_difference_comes_with_what_could_have_been_seen(make_run: MakeRun, worse: int) -> None:
    """20 cases, 30 % of them moved: about 34 points (2.8 * sqrt(.3 / 20)); six flips are 30 points at least."""
    run = make_run([0] * (worse // 2) + [1] * (20 - worse // 2), texts=None)
    base = make_run([1] * (20 - worse // 2) + [0] * (worse // 2), texts=None)
    change = overall(compare(base, run))
    assert change.detectable == pytest.approx(0.343 if worse else 0.30, abs=5e-4)
    assert "20 cases show" in change.reason


def test_too_few_cases_can_show_nothing(make_run: MakeRun) -> None:
    change = overall(compare(make_run([1] * 5), make_run([1] * 5)))
    assert change.detectable is None
    assert "could show nothing" in change.reason


def test_repeats_of_a_case_are_one_case(make_run: MakeRun) -> None:
    """Two cases asked ten times each: twenty flips are two moves, and decide nothing."""
    keys = [f"{case}#{n}" if n else case for case in "ab" for n in range(10)]
    change = overall(compare(make_run([1] * 20, keys=keys), make_run([0] * 20, keys=keys)))
    assert (change.n_common, change.n_cases, change.worse) == (20, 2, 2)
    assert change.p == 0.5
    assert change.verdict == "undecided"


def test_part_of_a_cases_repeats_moves_its_mean(make_run: MakeRun) -> None:
    keys = ["a", "a#1", "b", "b#1"]
    change = overall(compare(make_run([1, 1, 0, 0], keys=keys), make_run([1, 0, 0, 0], keys=keys)))
    assert (change.base_mean, change.run_mean, change.worse) == (0.5, 0.25, 1)


def test_lower_is_better_turns_the_verdict_not_the_numbers(make_run: MakeRun, make_facts: MakeFacts) -> None:
    facts = {"rejected_rate": make_facts("rejected_rate", lower_is_better=True)}
    base = make_run({"rejected_rate": [0] * 10}, metrics=facts)
    run = make_run({"rejected_rate": [1] * 7 + [0] * 3}, metrics=facts)
    change = overall(compare(base, run), "rejected_rate")
    assert change.delta == 0.7
    assert (change.worse, change.better, change.verdict) == (7, 0, "worse")
    assert change.drop == 0.7
    assert {flip.worse for flip in compare(base, run).flips} == {True}


def test_milliseconds_are_tested_by_sign_flips(make_run: MakeRun, make_facts: MakeFacts) -> None:
    facts = {"ttft_ms": make_facts("ttft_ms", is_rate=False, is_pct=False, lower_is_better=True)}
    base = make_run({"ttft_ms": [100.0] * 10}, metrics=facts)
    run = make_run({"ttft_ms": [130.0 + i for i in range(10)]}, metrics=facts)
    comparison = compare(base, run)
    change = overall(comparison, "ttft_ms")
    assert change.p == 2 / 2**10
    assert change.verdict == "worse"
    assert comparison.flips == ()


def test_slices_stand_beside_the_whole(make_run: MakeRun) -> None:
    texts = {"intent_l1": ["售后"] * 6 + ["售前"] * 6, "intent_l2": ["退货"] * 6 + ["选购"] * 3 + [None] * 3}
    comparison = compare(make_run([1] * 12, texts=texts), make_run([0] * 6 + [1] * 6, texts=texts))
    places = [(change.dimension, change.slice) for change in comparison.changes]
    assert places == [
        ("overall", ""),
        ("intent_l1", "售前"),
        ("intent_l1", "售后"),
        ("intent_l2", "退货"),
        ("intent_l2", "选购"),
    ]
    assert comparison.of("intent_top1", "intent_l2", "退货").n_common == 6
    assert comparison.of("intent_top1", "intent_l2", "选购").verdict == "same"


def test_holm_corrects_for_the_changes_that_could_be_decided(make_run: MakeRun) -> None:
    """Twelve slices of one flip each cannot be decided, and cost the whole nothing: its p stays."""
    labels = [f"S{i}" for i in range(12)]
    base = make_run([1] * 10 + [0] * 2, texts={"intent_l2": labels})
    run = make_run([0] * 10 + [1] * 2, texts={"intent_l2": labels})
    comparison = compare(base, run, dimensions=("intent_l2",), family_wise=True)
    change = overall(comparison)
    assert comparison.family == 1
    assert change.p == change.p_holm == pytest.approx(0.03857, abs=1e-5)
    assert change.verdict == "worse"
    assert comparison.of("intent_top1", "intent_l2", "S0").p_holm is None


def test_many_slices_do_not_make_a_finding_by_chance(make_run: MakeRun) -> None:
    """Six flips in one slice (p 0.03125) beside three other slices that moved as much, up and down."""
    labels = [f"S{i // 6}" for i in range(24)]
    base = make_run([1] * 12 + [0, 1] * 6, texts={"intent_l2": labels})
    run = make_run([0] * 6 + [1] * 6 + [1, 0] * 6, texts={"intent_l2": labels})
    change = compare(base, run, dimensions=("intent_l2",), family_wise=True).of(
        "intent_top1", "intent_l2", "S0"
    )
    assert change.p == 0.03125
    assert change.p_holm > 0.05
    assert (change.verdict, change.suspect) == ("undecided", True)


@pytest.mark.parametrize(
    ("right", "wrong_now", "suspect"),
    [
        pytest.param(5, 5, True, id="5/5 to 0/5"),
        pytest.param(3, 3, True, id="3/3 to 0/3"),
        pytest.param(5, 3, True, id="5/5 to 2/5"),
        pytest.param(2, 2, False, id="2/2 to 0/2 says too little"),
        pytest.param(8, 4, False, id="half is not most"),
    ],
)
def test_a_slice_that_mostly_flipped_is_suspect(
    make_run: MakeRun, right: int, wrong_now: int, *, suspect: bool
) -> None:
    texts = {"intent_l2": ["S3"] * right + ["S4"] * 40}
    base = make_run([1] * right + [0] * 10 + [1] * 30, texts=texts)
    run = make_run([0] * wrong_now + [1] * (right - wrong_now) + [1] * 40, texts=texts)
    assert compare(base, run).of("intent_top1", "intent_l2", "S3").suspect is suspect


def test_a_slice_that_had_little_and_lost_it_is_suspect(make_run: MakeRun) -> None:
    """5 of 10 right before, none now: all that could fall did."""
    texts = {"intent_l2": ["S3"] * 10}
    comparison = compare(make_run([1] * 5 + [0] * 5, texts=texts), make_run([0] * 10, texts=texts))
    assert comparison.of("intent_top1", "intent_l2", "S3").suspect


def test_a_slice_of_which_nothing_is_left_is_gone_and_not_suspect(make_run: MakeRun) -> None:
    texts = {"intent_l2": ["S3"] * 2 + ["S4"] * 8}
    comparison = compare(make_run([1] * 10, texts=texts), make_run([None] * 2 + [1] * 8, texts=texts))
    change = comparison.of("intent_top1", "intent_l2", "S3")
    assert (change.n_common, change.lost, change.delta, change.p) == (0, 2, None, None)
    assert (change.verdict, change.suspect, change.gone) == ("undecided", False, True)


def test_flips_show_both_predictions_and_both_answers(make_run: MakeRun) -> None:
    before = {"intent_pred": ["S1", "S2", "S3"], "response": ["一", "二", "三"]}
    after = {"intent_pred": ["S9", "S8", "S3"], "response": ["甲", "乙", "三"]}
    comparison = compare(make_run([0, 1, 1], texts=before), make_run([1, 0, 1], texts=after))
    worse, better = comparison.flips
    assert (worse.key, worse.worse, worse.base_pred, worse.run_pred) == ("q00001", True, "S2", "S8")
    assert (worse.base_response, worse.run_response, worse.query) == ("二", "乙", "问题 q00001")
    assert (better.key, better.worse, better.base_pred, better.run_pred) == ("q00000", False, "S1", "S9")


def test_unequal_sets_are_refused_whole(make_run: MakeRun) -> None:
    comparison = compare(make_run([1]), make_run([0], sha="cd" * 32))
    assert comparison.refused
    assert (comparison.changes, comparison.flips) == ((), ())


def test_an_unequal_version_refuses_that_metric_alone(make_run: MakeRun, make_facts: MakeFacts) -> None:
    base = make_run({"a": [1], "b": [1]})
    run = make_run({"a": [0], "b": [0]}, metrics={"b": make_facts("b", version=2)})
    comparison = compare(base, run)
    assert {change.metric for change in comparison.changes} == {"a"}
    assert [refusal.metric for refusal in comparison.refusals] == ["b"]
    assert not comparison.refused


def test_changed_sets_compare_over_what_did_not_change(make_run: MakeRun) -> None:
    base = make_run([1, 1, 1], keys=["a", "b", "c"], texts={"case_sha": ["x", "y", "z"]})
    run = make_run([0, 1, 1], keys=["a", "b", "d"], texts={"case_sha": ["x", "Y", "w"]}, sha="cd" * 32)
    comparison = compare(base, run, allow_changed_set=True)
    assert overall(comparison).n_common == 1
    assert (comparison.added, comparison.removed, comparison.changed) == (("d",), ("c",), ("b",))


def test_an_unknown_dimension_is_named(make_run: MakeRun) -> None:
    with pytest.raises(UnknownName, match="intent_l2"):
        compare(make_run([1]), make_run([1]), dimensions=("intent_12",))


scores = st.lists(
    st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 2, st.sampled_from("AB")), min_size=1, max_size=40
)
parts = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.5, 1 / 3, 1.0])] * 2, st.sampled_from("AB")), min_size=1, max_size=40
)


def two_runs(make_run: MakeRun, make_facts: MakeFacts, rows: list[tuple], *, is_rate: bool) -> list[Snapshot]:
    texts = {"intent_l2": [label for *_, label in rows]}
    facts = {"m": make_facts("m", is_rate=is_rate)}
    return [make_run({"m": [row[side] for row in rows]}, metrics=facts, texts=texts) for side in (0, 1)]


EVENLY = [(0.0, 0.0, "A")] * 4 + [(0.5, 0.0, "A"), (0.5, 1.0, "A"), (1 / 3, 1.0, "A"), (1.0, 1 / 3, "A")]


@settings(max_examples=40, deadline=None)
@given(st.one_of(scores.map(lambda rows: (rows, True)), parts.map(lambda rows: (rows, False))))
@example((EVENLY, False))
def test_swapping_the_runs_negates_deltas_and_swaps_verdicts(
    make_run: MakeRun, make_facts: MakeFacts, case: tuple[list[tuple], bool]
) -> None:
    base, run = two_runs(make_run, make_facts, case[0], is_rate=case[1])
    for here, there in zip(compare(base, run).changes, compare(run, base).changes, strict=False):
        if here.n_common == 0 or (here.dimension, here.slice) != (there.dimension, there.slice):
            continue
        assert there.delta == -here.delta
        assert (there.worse, there.better) == (here.better, here.worse)
        assert (there.p, there.verdict) == (here.p, OPPOSITE[here.verdict])
        assert (there.ci_low, there.ci_high) == (0.0 - here.ci_high, 0.0 - here.ci_low)


@settings(max_examples=40, deadline=None)
@given(scores, st.randoms(use_true_random=False))
def test_the_order_of_the_samples_changes_nothing(
    make_run: MakeRun, make_facts: MakeFacts, rows: list[tuple], chance: random.Random
) -> None:
    base, run = two_runs(make_run, make_facts, rows, is_rate=True)
    order = list(range(len(rows)))
    chance.shuffle(order)
    shuffled = replace(run, samples=run.samples.iloc[order])
    one, other = compare(base, run), compare(base, shuffled)
    assert one.changes == other.changes
    assert one.flips == other.flips


def test_equal_scores_in_other_bits_have_not_moved(make_run: MakeRun, make_facts: MakeFacts) -> None:
    facts = {"m": make_facts("m", is_rate=False)}
    change = overall(
        compare(make_run({"m": [0.1 + 0.2] * 8}, metrics=facts), make_run({"m": [0.3] * 8}, metrics=facts)),
        "m",
    )
    assert change.verdict == "same"


def test_false_finds_stay_under_the_level(make_run: MakeRun) -> None:
    """300 pairs of equal targets, 20 slices of 3 to 12 cases: Holm finds something worse in at most 5 %."""
    chance = np.random.default_rng(11)
    labels = [f"S{i}" for i, size in enumerate(chance.integers(3, 13, 20)) for _ in range(size)]
    texts, found = {"intent_l2": labels}, 0
    for _ in range(300):
        rate = np.where(chance.random(len(labels)) < 0.3, 0.5, 1.0)
        base, run = (make_run((chance.random(len(labels)) < rate) * 1.0, texts=texts) for _ in range(2))
        changes = compare(base, run, dimensions=("intent_l2",), family_wise=True).changes
        found += any(change.verdict == "worse" for change in changes)
    assert found <= 15


def test_the_same_moves_of_the_same_cases_are_one_test(make_run: MakeRun) -> None:
    """All six flips of the run are in one slice, and two metrics see them: p 0.03125 is tested once."""
    texts = {"intent_l1": ["售后"] * 30, "intent_l2": ["S3"] * 10 + ["S4"] * 20}
    base = make_run({"a": [1] * 30, "b": [1] * 30}, texts=texts)
    run = make_run({"a": [0] * 6 + [1] * 24, "b": [0] * 6 + [1] * 24}, texts=texts)
    comparison = compare(base, run, family_wise=True)
    assert comparison.family == 1
    assert {c.p_holm for c in comparison.changes if c.worse} == {0.03125}
    other = make_run({"a": [0] * 6 + [1] * 24, "b": [1] + [0] * 6 + [1] * 23}, texts=texts)
    assert compare(base, other, family_wise=True).family == 2
