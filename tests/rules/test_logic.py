"""Truth tables of the logic: three values, three ways to combine, hard rules above all."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Verdict
from evalkit.errors import UsageError
from evalkit.rules.logic import Logic, decide

VALUES = (True, False, None)


def verdict(rule: str, *, passed: bool | None, score: float | None = None, **fields: object) -> Verdict:
    told = {"rule": rule, "passed": passed, "score": score, "scope": "full_dialog", **fields}
    return Verdict.model_validate(told)


@pytest.mark.parametrize("values", list(itertools.product(VALUES, repeat=3)), ids=str)
def test_all_and_any_are_what_they_would_be_whatever_the_unknown_is(values: tuple[bool | None, ...]) -> None:
    """The oracle: put both truth values in for every unknown; where all outcomes agree, that is the outcome."""
    verdicts = [verdict(f"r{i}", passed=value) for i, value in enumerate(values)]
    worlds = list(itertools.product(*((value,) if value is not None else (True, False) for value in values)))
    for logic, combine in (("all", all), ("any", any)):
        outcomes = {combine(world) for world in worlds}
        assert decide(verdicts, logic=logic).passed is (outcomes.pop() if len(outcomes) == 1 else None)


@pytest.mark.parametrize(
    ("soft", "logic", "leaves"),
    [
        pytest.param((True, False, False), "all", ("r1", "r2"), id="each that failed"),
        pytest.param((True, True, True), "all", ("r0", "r1", "r2"), id="all passed"),
        pytest.param((True, None, True), "all", ("r1",), id="the unknown one"),
        pytest.param((False, True, None), "any", ("r1",), id="the one that passed"),
        pytest.param((False, None, False), "any", ("r1",), id="the one that might"),
    ],
)
def test_the_leaf_that_decided_is_named(
    soft: tuple[bool | None, ...], logic: Logic, leaves: tuple[str, ...]
) -> None:
    verdicts = [verdict(f"r{i}", passed=value) for i, value in enumerate(soft)]
    assert decide(verdicts, logic=logic).decided_by == leaves


def test_rules_of_one_name_are_told_apart() -> None:
    verdicts = [verdict("keyword_match", passed=True), verdict("keyword_match", passed=False)]
    assert decide(verdicts).decided_by == ("keyword_match[1]",)


@pytest.mark.parametrize("logic", ["all", "any", "weighted"])
@pytest.mark.parametrize(
    ("hard", "soft", "passed"),
    [
        (False, True, False),
        (False, None, False),
        (None, True, None),
        (None, False, False),
        (True, True, True),
        (True, False, False),
        (True, None, None),
    ],
)
def test_a_hard_rule_fails_the_case_whatever_the_logic(
    logic: Logic, *, hard: bool | None, soft: bool | None, passed: bool | None
) -> None:
    """Mission, second plan, 1.3: implicit rules are hard; one failure fails the case."""
    verdicts = [
        verdict("expectation.keywords", passed=hard, hard=True),
        verdict("keyword_match", passed=soft),
    ]
    assert decide(verdicts, logic=logic, threshold=0.5).passed is passed


def test_hard_rules_alone_decide() -> None:
    assert decide([verdict("expectation.keywords", passed=True, hard=True)], logic="any").passed is True


@pytest.mark.parametrize(
    ("scores", "weights", "threshold", "passed"),
    [
        pytest.param((1.0, 0.6, 0.9), (1, 2, 1), 0.7, True, id="mission: 0.775 at 0.7"),
        pytest.param((0.0, 0.6, 0.9), (1, 2, 1), 0.7, False, id="0.525 at 0.7"),
        pytest.param((0.7, 0.7), (0.4, 0.6), 0.7, True, id="0.4 and 0.6 of 0.7 are 0.7"),
        pytest.param((0.8,), (3,), 0.8, True, id="exactly 0.8"),
        pytest.param((0.5,), (3,), 0.5, True, id="exactly 0.5"),
        pytest.param((0.1, 0.2), (1, 1), 0.15, True, id="0.1 and 0.2"),
        pytest.param((0.799,), (1,), 0.8, False, id="0.799 is not rounded up"),
        pytest.param((None, 1.0), (1, 1), 0.7, None, id="unknown could decide"),
        pytest.param((None, 1.0), (1, 9), 0.7, True, id="unknown cannot spoil"),
        pytest.param((None, 0.0), (1, 1), 0.7, False, id="unknown cannot save"),
    ],
)
def test_weighted(
    scores: tuple[float | None, ...], weights: tuple[float, ...], threshold: float, *, passed: bool | None
) -> None:
    """Sum of weight · score ÷ sum of weights at least the threshold; DEFINITIONS, section 5, hazard N13."""
    verdicts = [
        verdict(f"r{i}", passed=None if score is None else score > 0.5, score=score, weight=weight)
        for i, (score, weight) in enumerate(zip(scores, weights, strict=True))
    ]
    assert decide(verdicts, logic="weighted", threshold=threshold).passed is passed


def test_a_verdict_without_a_score_weighs_as_one_or_nothing() -> None:
    verdicts = [verdict("a", passed=True), verdict("b", passed=False)]
    assert decide(verdicts, logic="weighted", threshold=0.5).passed is True
    assert decide(verdicts, logic="weighted", threshold=0.51).passed is False


def test_weighted_without_a_threshold_is_refused() -> None:
    with pytest.raises(UsageError, match="rule_pass_threshold"):
        decide([verdict("a", passed=True)], logic="weighted")


def test_no_rule_decides_nothing() -> None:
    assert decide([]) == (None, ())


verdicts_of_any_kind = st.lists(
    st.builds(
        verdict,
        st.sampled_from(("a", "b", "c")),
        passed=st.sampled_from(VALUES),
        score=st.none() | st.floats(0, 1),
        weight=st.floats(0.01, 100),
        hard=st.booleans(),
    ),
    max_size=6,
)


@given(verdicts=verdicts_of_any_kind, logic=st.sampled_from(("all", "any", "weighted")), data=st.data())
def test_the_order_of_rules_does_not_matter(
    verdicts: list[Verdict], logic: Logic, data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(verdicts))
    one, other = (decide(some, logic=logic, threshold=0.6) for some in (verdicts, shuffled))
    assert one.passed is other.passed
    assert [name.split("[")[0] for name in one.decided_by] == [
        name.split("[")[0] for name in other.decided_by
    ]


@given(verdicts=verdicts_of_any_kind, logic=st.sampled_from(("all", "any", "weighted")), data=st.data())
def test_what_is_decided_stays_so_when_the_unknown_becomes_known(
    verdicts: list[Verdict], logic: Logic, data: st.DataObject
) -> None:
    before = decide(verdicts, logic=logic, threshold=0.6).passed
    known = [
        one
        if one.passed is not None
        else one.model_copy(update={"passed": (held := data.draw(st.booleans())), "score": float(held)})
        for one in verdicts
    ]
    after = decide(known, logic=logic, threshold=0.6).passed
    assert before is None or after is before
