"""Outcomes: the worked figures of both plans, boundaries, the unknown and its bounds, repeats."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord, MetricResult
from evalkit.contracts import SlotSpec, Verdict
from evalkit.errors import UsageError
from evalkit.metrics.outcome import compute, outcomes, passes
from evalkit.records import Records


def task(
    intent: float | None = 1.0, completion: float | None = 1.0, *, passed: bool | None = None, **fields: Any
) -> EvalRecord:
    """A record whose layers are told by rules: a grade of the intent that passes at 0.7, and a completion."""
    told = {} if passed is None else {"passed": passed}
    verdicts = (
        Verdict(
            rule="llm_score",
            score=intent,
            scope="last_turn",
            layer="intent",
            **{"passed": None if intent is None else intent >= 0.7, **told},
        ),
        Verdict(
            rule="task_completion",
            passed=None if completion is None else completion >= 0.6,
            score=completion,
            scope="full_dialog",
            layer="completion",
        ),
    )
    return EvalRecord(**{"sample_id": "1", **fields}, verdicts=verdicts)


def named(results: list[MetricResult]) -> dict[str, MetricResult]:
    return {result.name: result for result in results}


def overall(records: list[EvalRecord], **params: Any) -> dict[str, float | None]:
    return {name: result.overall for name, result in named(compute(records, **params)).items()}


def four() -> list[EvalRecord]:
    """Two successes, one partial, one failure."""
    return [
        task(1.0, 1.0, sample_id="1", intent_l2="S1"),
        task(0.8, 0.8, sample_id="2", intent_l2="S1"),
        task(0.9, 0.5, sample_id="3", intent_l2="S2"),
        task(0.2, 0.9, sample_id="4", intent_l2="S2"),
    ]


def test_two_successes_and_a_partial_of_four() -> None:
    """Mission, second plan, 4.2-4.3: (2 + 0.5) / 4 = 0.625, (2 + 1) / 4 = 0.75, L1 3/4, mean completion 0.8."""
    found = overall(four())
    assert found["success_rate"] == 0.625
    assert found["pass_rate"] == 0.75
    assert found["intent_accuracy"] == 0.75
    assert found["avg_completion"] == pytest.approx(0.8)


def test_slices_have_rates_of_their_own() -> None:
    rate = named(compute(four()))["success_rate"]
    assert {label: float(mean or 0) for label, mean in rate.by_intent_l2.items()} == {"S1": 1.0, "S2": 0.25}


@pytest.mark.parametrize(
    ("intent", "completion", "level"),
    [
        pytest.param(1.0, 0.8, "success", id="exactly 0.8"),
        pytest.param(1.0, 0.1 + 0.7, "success", id="0.8 but for rounding"),
        pytest.param(1.0, 0.799, "partial", id="under 0.8"),
        pytest.param(1.0, 0.5, "partial", id="exactly 0.5"),
        pytest.param(1.0, 0.499, "failure", id="under 0.5"),
        pytest.param(0.0, 1.0, "failure", id="all done, wrong intent"),
        pytest.param(0.7, 1.0, "success", id="intent at its threshold"),
        pytest.param(None, 1.0, None, id="intent unknown"),
        pytest.param(1.0, None, None, id="completion unknown"),
        pytest.param(None, 0.0, None, id="unknown, though it could not succeed"),
    ],
)
def test_graded(intent: float | None, completion: float | None, level: str | None) -> None:
    """DEFINITIONS, section 4: thresholds 0.8 and 0.5, unrounded with 1e-9 of slack; unknown stays unknown."""
    (outcome,) = outcomes([task(intent, completion)])
    assert outcome.success_level == level
    score = {"success": 1.0, "partial": 0.5, "failure": 0.0, None: None}[level]
    assert overall([task(intent, completion)])["success_rate"] == score


@pytest.mark.parametrize(
    ("intent", "completion", "success"),
    [
        pytest.param(0.7, 1.0, 1.0, id="7 of 10 and all"),
        pytest.param(0.69, 1.0, 0.0, id="under 7"),
        pytest.param(1.0, 0.8, 0.0, id="4 of 5 slots"),
        pytest.param(0.7, None, None, id="unknown"),
    ],
)
def test_binary(intent: float, completion: float | None, success: float | None) -> None:
    """Mission, first plan, section 5: intent_score >= 7 and completion_ratio >= 1.0."""
    assert overall([task(intent, completion)])["success_rate_binary"] == success


@pytest.mark.parametrize(
    ("intent", "completion", "score"),
    [
        pytest.param(0.8, 0.6, 0.4 * 0.8 + 0.6 * 0.6, id="8 of 10 and 3 of 5"),
        pytest.param(1.0, 1.0, 1.0, id="all"),
        pytest.param(None, 1.0, None, id="unknown"),
    ],
)
def test_weighted(intent: float | None, completion: float, score: float | None) -> None:
    """Mission, first plan, section 5: 0.4 · intent_score / 10 + 0.6 · completion_ratio."""
    found = overall([task(intent, completion)])["success_score_weighted"]
    assert found == (score if score is None else pytest.approx(score))
    assert "success_rate_weighted" not in overall([task(intent, completion)])


def test_a_weighted_threshold_is_reached_exactly() -> None:
    """Hazard N13: 0.4 · 0.7 + 0.6 · 0.7 against 0.7."""
    assert overall([task(0.7, 0.7)], threshold=0.7)["success_rate_weighted"] == 1.0
    assert overall([task(0.7, 0.69)], threshold=0.7)["success_rate_weighted"] == 0.0
    assert overall([task(None, 0.69)], threshold=0.7)["success_rate_weighted"] is None


def test_all_policies_stand_side_by_side() -> None:
    assert list(overall(four(), bounds=False)) == [
        "intent_accuracy",
        "avg_completion",
        "success_rate",
        "pass_rate",
        "success_rate_binary",
        "success_score_weighted",
        "rule_pass_rate",
    ]


@pytest.mark.parametrize(
    "params",
    [
        {"success": 0.4},
        {"partial": -0.1},
        {"success": 1.1},
        {"intent_weight": 0.5},
        {"intent_weight": -0.5, "completion_weight": 1.5},
        {"intent_weight": 0.0, "completion_weight": 0.0},
    ],
    ids=["out of order", "under 0", "over 1", "sum 1.1", "negative", "sum 0"],
)
def test_thresholds_and_weights_that_mean_nothing_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="outcome"):
        compute(four(), **params)


def test_unknown_is_not_counted_and_bounded() -> None:
    """One success, one failure, two unknown: 1/2 of those known, between 1/4 and 2/4 of all.

    The third is of the wrong intent, so it fails whatever its completion; the fourth could be anything.
    """
    records = [
        task(1.0, 1.0, sample_id="1"),
        task(1.0, 0.0, sample_id="2"),
        task(0.0, None, sample_id="3"),
        task(None, None, sample_id="4"),
    ]
    found = named(compute(records, bounds=True))
    rate = found["success_rate"].overall
    assert rate is not None
    assert (float(rate), rate.n_counted, rate.n_total) == (0.5, 2, 4)
    assert found["success_rate_worst"].overall == 0.25
    assert found["success_rate_best"].overall == 0.5
    assert found["intent_accuracy_worst"].overall == 0.5
    assert found["intent_accuracy_best"].overall == 0.75


def test_bounds_are_there_where_something_is_undecided() -> None:
    """Nobody has to ask for them; where all is known there is nothing to bound."""
    known, unknown = task(1.0, 1.0, sample_id="1"), task(1.0, None, sample_id="2")
    found = overall([known, unknown])
    assert (found["success_rate"], found["success_rate_worst"], found["success_rate_best"]) == (1.0, 0.5, 1.0)
    assert "intent_accuracy_worst" not in found
    assert "success_rate_worst" not in overall([known])
    assert "success_rate_worst" not in overall([known, unknown], bounds=False)


def test_a_level_that_is_not_known_has_a_least_and_a_most() -> None:
    """An intent that was understood without a known completion may still be anything; a wrong one fails."""
    records = [
        task(1.0, 0.5, sample_id="1"),
        task(1.0, None, sample_id="2"),
        task(None, 0.5, sample_id="3"),
        task(0.0, None, sample_id="4"),
        EvalRecord(sample_id="5", intent_l2="a", intent_pred="a"),
    ]
    told = [(found.success_level, found.success_least, found.success_most) for found in outcomes(records)]
    assert told == [
        ("partial", "partial", "partial"),
        (None, "failure", "success"),
        (None, "failure", "partial"),
        (None, "failure", "failure"),
        (None, None, None),
    ]


def test_levels_follow_the_thresholds_that_were_set() -> None:
    records = [task(1.0, 0.8)]
    assert outcomes(records, results=compute(records, success=0.9))[0].success_level == "partial"
    assert outcomes(records, results=[])[0].success_level is None


def test_the_target_is_believed_or_only_what_was_said() -> None:
    """The target reports a slot that nobody said: by `texts` it was not filled."""
    record = EvalRecord(
        sample_id="1",
        intent_l2="S",
        intent_pred="S",
        query="你好",
        response="好的",
        required_slots=[SlotSpec(name="phone", value="13800138000")],
        filled_slots={"phone": "13800138000"},
    )
    assert overall([record])["success_rate"] == 1.0
    assert overall([record], trust="texts")["success_rate"] == 0.0
    assert named(passes([record], ks=(1,)))["pass@1"].overall == 1.0
    assert named(passes([record], ks=(1,), trust="texts"))["pass@1"].overall == 0.0


layer = st.none() | st.sampled_from((0.0, 0.49, 0.5, 0.7, 0.8, 1.0))


@given(pairs=st.lists(st.tuples(layer, layer), min_size=1, max_size=5))
def test_bounds_hold_whatever_the_unknown_turns_out_to_be(
    pairs: list[tuple[float | None, float | None]],
) -> None:
    def rates(values: list[tuple[float | None, float | None]], **params: Any) -> dict[str, float | None]:
        return overall([task(*pair, sample_id=str(place)) for place, pair in enumerate(values)], **params)

    bounded = rates(pairs, bounds=True)
    for fill in (0.0, 0.6, 1.0):
        known = [tuple(fill if value is None else value for value in pair) for pair in pairs]
        for name, value in rates(known, bounds=False).items():
            if name != "rule_pass_rate":
                assert bounded[f"{name}_worst"] <= value + 1e-12
                assert value <= bounded[f"{name}_best"] + 1e-12


def test_labels_tell_the_layers_where_no_rule_does() -> None:
    record = EvalRecord(
        sample_id="1",
        intent_l2="S17",
        intent_pred="S17",
        response="好",
        required_slots=[SlotSpec(name=name) for name in "abcde"],
        filled_slots=dict.fromkeys("abc", "x"),
    )
    found = overall([record])
    assert (found["intent_accuracy"], found["avg_completion"], found["success_rate"]) == (1.0, 0.6, 0.5)
    assert overall([record.model_copy(update={"intent_pred": "S1"})])["success_rate"] == 0.0
    assert overall([record.model_copy(update={"evidence_status": "error"})])["success_rate"] is None
    assert overall([record.model_copy(update={"answer_status": "error"})])["success_rate"] is None


def test_a_question_without_a_task_has_no_outcome() -> None:
    """A single question with a label is measured by `intent_top1`; it is no task that could succeed."""
    found = named(compute([EvalRecord(sample_id="1", intent_l2="a", intent_pred="a")], bounds=True))
    assert {result.overall for result in found.values()} == {None}


def test_several_rules_of_one_layer() -> None:
    """The intent must pass all of its rules; completions are weighed."""
    one = task(1.0, 1.0)
    wrong = Verdict(
        rule="intent_classification", passed=False, score=0.0, scope="full_dialog", layer="intent"
    )
    half = Verdict(
        rule="keyword_match", passed=False, score=0.4, scope="last_turn", layer="completion", weight=2
    )
    both = one.model_copy(update={"verdicts": (*one.verdicts, wrong, half)})
    found = overall([both])
    assert found["intent_accuracy"] == 0.0
    assert found["avg_completion"] == pytest.approx((1.0 + 2 * 0.4) / 3)


def test_one_intent_rule_that_fails_is_enough_whatever_the_others_would_say() -> None:
    unsure = task(None, 1.0)
    wrong = Verdict(
        rule="intent_classification", passed=False, score=0.0, scope="full_dialog", layer="intent"
    )
    right = wrong.model_copy(update={"passed": True, "score": 1.0})
    for verdict, accuracy in ((wrong, 0.0), (right, None)):
        record = unsure.model_copy(update={"verdicts": (*unsure.verdicts, verdict)})
        assert overall([record])["intent_accuracy"] == accuracy


def test_plain_rules_stand_beside() -> None:
    records = [
        task(sample_id=str(i), rules_passed=passed) for i, passed in enumerate((True, False, None, True))
    ]
    found = named(compute(records, bounds=True))
    rate = found["rule_pass_rate"].overall
    assert rate is not None
    assert (float(rate), rate.n_counted) == (pytest.approx(2 / 3), 3)
    assert found["rule_pass_rate_worst"].overall == 0.5
    assert found["rule_pass_rate_best"].overall == 0.75


def test_an_outcome_says_what_became_of_the_sample() -> None:
    record = task(0.9, 0.6, sample_id="7", repeat=2, rules_passed=True, rules_decided_by="llm_score")
    (outcome,) = outcomes([record])
    assert (outcome.sample_id, outcome.repeat, outcome.intent_passed, outcome.completion) == (
        "7",
        2,
        True,
        0.6,
    )
    assert (outcome.success_level, outcome.passed, outcome.decided_by) == ("partial", True, "llm_score")
    assert outcome.verdicts == record.verdicts


@given(pairs=st.lists(st.tuples(layer, layer), min_size=1, max_size=5), data=st.data())
def test_the_order_of_records_does_not_matter(
    pairs: list[tuple[float | None, float | None]], data: st.DataObject
) -> None:
    records = [task(*pair, sample_id=str(place)) for place, pair in enumerate(pairs)]
    assert overall(records) == overall(data.draw(st.permutations(records)))


# Repeats


def tries(*passed: bool | None, sample_id: str = "1") -> list[EvalRecord]:
    return [
        EvalRecord(sample_id=sample_id, repeat=place, rules_passed=held, rules=[{"type": "safety"}])
        for place, held in enumerate(passed)
    ]


@pytest.mark.parametrize(
    ("passed", "found"),
    [
        pytest.param([True] * 3 + [False] * 2, {"pass@2": 0.9, "pass^2": 0.3}, id="3 of 5 at 2"),
        pytest.param(
            [True], {"pass@1": 1.0, "pass^1": 1.0, "pass@2": None, "pass^2": None}, id="too few tries"
        ),
        pytest.param(
            [True, None, False], {"pass@1": 0.5, "pass@2": 1.0, "pass@3": None}, id="unknown is no try"
        ),
    ],
)
def test_passes(passed: list[bool | None], found: dict[str, float | None]) -> None:
    """DEFINITIONS, section 9.4: n=5, c=3, k=2 gives .9 and .3; n < k is null."""
    results = named(passes(tries(*passed), by="rules"))
    for name, value in found.items():
        assert results[name].overall == (value if value is None else pytest.approx(value)), name


def test_a_case_counts_once_however_often_it_was_tried() -> None:
    records = tries(True, True, True, True) + tries(False, sample_id="2")
    rate = named(passes(records, by="rules"))["pass@1"].overall
    assert rate is not None
    assert (float(rate), rate.n_counted) == (0.5, 2)


def test_a_try_succeeds_by_the_graded_policy() -> None:
    records = [task(1.0, done, repeat=place) for place, done in enumerate((1.0, 0.6, 0.8))]
    assert named(passes(records))["pass@1"].overall == pytest.approx(2 / 3)


def test_k_is_at_least_one() -> None:
    with pytest.raises(UsageError, match="ks"):
        passes(tries(True), ks=(0, 1))


def test_pass_hat_k_equals_that_of_tau_bench(shared: Path) -> None:
    """The rewards of 100 published trajectories; EXPECTED.json was derived from them by the benchmark's formula."""
    folder = shared / "data" / "tau_bench"
    wanted = json.loads((folder / "EXPECTED.json").read_text(encoding="utf-8"))["pass^k"]
    (path,) = folder.glob("*tasks*.json")
    trials = json.loads(path.read_text(encoding="utf-8"))
    repeats: dict[int, itertools.count[int]] = {}
    records = [
        EvalRecord(
            sample_id=str(trial["task_id"]),
            repeat=next(repeats.setdefault(trial["task_id"], itertools.count())),
            rules_passed=trial["reward"] == 1,
        )
        for trial in trials
    ]
    ks = [int(k) for k in wanted]
    results = named(passes(Records(records), ks=ks, by="rules"))
    assert {k: float(results[f"pass^{k}"].overall or 0) for k in wanted} == pytest.approx(wanted)


def test_a_described_behaviour_is_no_task_of_the_rules() -> None:
    """In words alone nothing can fail it, so that it has no bounds either; a hard field has both."""
    described, hard = (
        EvalRecord.model_validate({"sample_id": "1", "query": "?", "expectation": expectation})
        for expectation in ({"behavior": "道歉"}, {"behavior": "道歉", "keywords": ["抱歉"]})
    )
    for record, worst, best in ((described, None, None), (hard, 0.0, 1.0)):
        found = {result.name: result.overall for result in compute([record], bounds=True)}
        assert (found["rule_pass_rate_worst"], found["rule_pass_rate_best"]) == (worst, best)


def test_an_empty_gold_intent_is_none() -> None:
    """As in every other metric: the empty text is no label, so that nothing is known of the intent."""
    told = [
        outcomes([EvalRecord(sample_id="1", intent_l2=gold, required_steps=[{"name": "查单"}])])
        for gold in ("", None)
    ]
    assert [outcome.intent_passed for (outcome,) in told] == [None, None]


def test_samples_that_share_an_id_keep_their_own_completion() -> None:
    """One of two is done, whoever they are called: the layer's mean is the metric's."""
    steps = [{"name": "查单", "keywords": ["查到"]}]
    same, other = (
        [
            EvalRecord(sample_id=name, required_steps=steps, dialog=[{"reply": reply}])
            for name, reply in zip(names, ("已查到。", "请稍等。"), strict=True)
        ]
        for names in (("1", "1"), ("1", "2"))
    )
    assert overall(other)["avg_completion"] == 0.5
    assert overall(same) == overall(other)
