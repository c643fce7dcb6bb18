"""Samples pair by what they are, never by where they stand, and what may not be compared is named."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalkit.report.pairs import Refusal, pair, refusals
from evalkit.report.snapshot import MetricFacts, Snapshot

MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]


def asking(*said: str) -> dict[str, list[str]]:
    return {"case_sha": list(said)}


def test_equal_runs_pair_sample_by_sample(make_run: MakeRun) -> None:
    pairs = pair(make_run([1, 0]), make_run([0, 1]))
    assert [*pairs.base.index] == [*pairs.run.index] == ["q00000", "q00001"]
    assert not pairs.added + pairs.removed + pairs.changed + pairs.renamed


def test_one_case_more_moves_no_pair(make_run: MakeRun) -> None:
    """The new case stands first in the file; each of the others keeps its partner."""
    base, run = make_run([1, 0], keys=["b", "c"]), make_run([0, 1, 0], keys=["a", "b", "c"])
    pairs = pair(base, run)
    assert [*pairs.base.index] == [*pairs.run.index] == ["b", "c"]
    assert pairs.added == ("a",)
    assert pair(run, base).removed == ("a",)


def test_a_case_that_says_something_else_is_no_pair(make_run: MakeRun) -> None:
    base = make_run([1, 1], texts=asking("x", "y"))
    run = make_run([1, 1], texts=asking("x", "z"))
    pairs = pair(base, run)
    assert [*pairs.base.index] == ["q00000"]
    assert pairs.changed == ("q00001",)


def test_cases_whose_ids_moved_pair_by_content(make_run: MakeRun) -> None:
    """Ids that are row numbers, and a question inserted at the top: the published trap."""
    base = make_run([1, 0, 1], keys=["0", "1", "2"], texts=asking("x", "y", "z"))
    run = make_run([1, 1, 0, 1], keys=["0", "1", "2", "3"], texts=asking("new", "x", "y", "z"))
    pairs = pair(base, run)
    assert pairs.renamed == (("0", "1"), ("1", "2"), ("2", "3"))
    assert pairs.base["case_sha"].tolist() == pairs.run["case_sha"].tolist() == ["x", "y", "z"]
    assert (pairs.added, pairs.removed, pairs.changed) == (("0",), (), ())


def test_a_repeat_pairs_with_the_same_repeat(make_run: MakeRun) -> None:
    base = make_run([1, 0], keys=["a", "a#1"])
    run = make_run([1, 0], keys=["b", "b#1"], texts={"case_sha": ["sha of a"] * 2})
    assert pair(base, run).renamed == (("a", "b"), ("a#1", "b#1"))


def test_content_that_stands_twice_names_nobody(make_run: MakeRun) -> None:
    base = make_run([1, 0], keys=["a", "b"], texts=asking("x", "x"))
    run = make_run([1, 0], keys=["c", "d"], texts=asking("x", "x"))
    pairs = pair(base, run)
    assert (pairs.renamed, pairs.added, pairs.removed) == ((), ("c", "d"), ("a", "b"))


def test_runs_of_one_set_and_version_compare(make_run: MakeRun) -> None:
    assert refusals(make_run([1]), make_run([0]), ["intent_top1"], allow_changed_set=False) == ()


@pytest.mark.parametrize("allowed", [False, True])
def test_unequal_eval_sets_are_refused_unless_allowed(make_run: MakeRun, *, allowed: bool) -> None:
    found = refusals(make_run([1]), make_run([1], sha="cd" * 32), ["intent_top1"], allow_changed_set=allowed)
    if allowed:
        assert found == ()
    else:
        assert [refusal.metric for refusal in found] == [""]
        assert "abababababab… in the base, cdcdcdcdcdcd… in the run" in found[0].text


def test_an_unknown_eval_set_equals_nothing(make_run: MakeRun) -> None:
    """Not even another unknown one."""
    (refusal,) = refusals(make_run([1], sha=""), make_run([1], sha=""), [], allow_changed_set=False)
    assert "unknown in base and run" in refusal.text


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param({}, {"version": 2}, "version v1 in the base, v2 in the run", id="version"),
        pytest.param(
            {"params": "|k=5"}, {"params": "|k=10"}, "k 5 in the base, 10 in the run", id="parameter"
        ),
        pytest.param(
            {"params": "|judge=glm-4"},
            {"params": "|judge=qwen-3"},
            "judge glm-4 in the base, qwen-3",
            id="judge",
        ),
        pytest.param(
            {}, {"params": "|judge=qwen-3"}, "judge nothing in the base, qwen-3 in the run", id="new"
        ),
    ],
)
def test_unequal_signatures_are_refused_with_the_difference(
    make_run: MakeRun, make_facts: MakeFacts, before: dict[str, object], after: dict[str, object], told: str
) -> None:
    """Also where changed eval sets are allowed: a number means what its signature says."""
    base = make_run({"m": [1]}, metrics={"m": make_facts("m", **before)})
    run = make_run({"m": [1]}, metrics={"m": make_facts("m", **after)})
    for allowed in (False, True):
        (refusal,) = refusals(base, run, ["m"], allow_changed_set=allowed)
        assert refusal.metric == "m"
        assert told in refusal.text


def test_a_metric_that_one_run_lacks_is_refused(make_run: MakeRun) -> None:
    base, run = make_run({"a": [1]}), make_run({"b": [1]})
    assert refusals(base, run, ["a"], allow_changed_set=False) == (
        Refusal("a", "a: not measured in the run"),
    )
    assert refusals(base, run, ["c"], allow_changed_set=False)[0].text.endswith("in the base nor in the run")
