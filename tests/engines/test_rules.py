"""Rules over records: verdicts, what they come to, what is refused, and what stays undecided."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest

from evalkit import EvalRecord, register, registry
from evalkit.contracts import Case, Judgement, Question, Turn, Verdict
from evalkit.engines.rules import Models, check_rules, judge_rules, with_verdicts
from evalkit.errors import UsageError


def record(rules: list[dict[str, Any]], **fields: Any) -> EvalRecord:
    told = {"sample_id": "1", "query": "能退吗", "response": "7天内可以退货", "rules": rules, "total_ms": 300}
    return EvalRecord.model_validate({**told, **fields})


def only(records: list[EvalRecord], models: Models | None = None) -> EvalRecord:
    (found,) = with_verdicts(records) if models is None else asyncio.run(judge_rules(records, models))
    return found


async def judge(question: Question) -> Judgement:
    """A judge who grades everything 8, and finds that everything holds."""
    return Judgement(
        label=next(iter(question.labels), None),
        detail={
            "dimensions": dict.fromkeys(question.dimensions, 8),
            "items": dict.fromkeys(question.items, True),
        },
    )


KEYWORD = {"type": "keyword_match", "params": {"keywords": ["退货"]}}
GRADE = {"type": "llm_score", "params": {"criteria": "礼貌"}}


def test_a_verdict_carries_what_the_case_says_of_the_rule() -> None:
    found = only([record([{**KEYWORD, "weight": 2.5, "layer": "completion"}])])
    (verdict,) = found.verdicts
    assert (verdict.rule, verdict.passed, verdict.weight, verdict.hard) == ("keyword_match", True, 2.5, False)
    assert (verdict.scope, verdict.layer) == ("last_turn", "completion")
    assert (found.rules_passed, found.rules_decided_by) == (True, "keyword_match")


def test_layers_are_told_unasked_by_the_rules_that_are_about_them() -> None:
    rules = [
        {"type": "intent_classification", "params": {"expected_intent": "a"}},
        {"type": "task_completion", "params": {"required_slots": [{"name": "days", "value": "7天"}]}},
        KEYWORD,
    ]
    found = only([record(rules, intent_pred="a")])
    assert [verdict.layer for verdict in found.verdicts] == ["intent", "completion", None]
    assert found.rules_passed is True


def test_an_expectation_is_hard_and_comes_first() -> None:
    """Mission, second plan, 1.3: implicit rules fail the case whatever `rule_logic` says."""
    found = only(
        [record([KEYWORD], rule_logic="any", expectation={"keywords": ["换货"], "max_latency_ms": 200})]
    )
    assert [verdict.rule for verdict in found.verdicts] == [
        "expectation.keywords",
        "expectation.max_latency_ms",
        "keyword_match",
    ]
    assert [verdict.hard for verdict in found.verdicts] == [True, True, False]
    assert found.rules_passed is False
    assert found.rules_decided_by == "expectation.keywords, expectation.max_latency_ms"


def test_a_rule_without_its_model_is_undecided_and_says_so() -> None:
    found = only([record([GRADE, KEYWORD])])
    assert [verdict.passed for verdict in found.verdicts] == [None, True]
    assert found.verdicts[0].reason == "needs judge, and there is none"
    assert found.verdicts[0].scope == "last_turn"
    assert (found.rules_passed, found.rules_decided_by) == (None, "llm_score")
    assert only([record([GRADE, KEYWORD], rule_logic="any")]).rules_passed is True


def test_models_that_are_handed_in_are_asked() -> None:
    found = only([record([GRADE, KEYWORD])], Models(judge=judge))
    assert [verdict.passed for verdict in found.verdicts] == [True, True]
    assert found.rules_passed is True


def test_without_a_judge_a_behaviour_is_a_description() -> None:
    """So that a case may pass as well as fail on what can be seen without a judge."""
    expectation = {"behavior": "先道歉，再说明退货的条件"}
    good, bad = ({**expectation, "keywords": [word]} for word in ("退货", "换货"))
    assert only([record([KEYWORD], expectation=expectation)]).rules_passed is True
    assert only([record([], expectation=good)]).rules_passed is True
    assert only([record([], expectation=bad)]).rules_passed is False
    bare = only([record([], expectation=expectation)])
    assert (bare.verdicts, bare.rules_passed) == ((), None)


def test_with_a_judge_a_behaviour_is_a_hard_rule() -> None:
    async def severe(question: Question) -> Judgement:
        return Judgement(detail={"dimensions": dict.fromkeys(question.dimensions, 3)})

    given = record([KEYWORD], expectation={"behavior": "先道歉"})
    for asked, passed in ((judge, True), (severe, False)):
        found = only([given], Models(judge=asked))
        assert [verdict.rule for verdict in found.verdicts] == ["expectation.behavior", "keyword_match"]
        assert found.rules_passed is passed
        again = only([given.model_copy(update={"verdicts": found.verdicts})])
        assert again.rules_passed is passed


@pytest.mark.parametrize("status", ["error", "incomplete", "cancelled", "rejected", "skipped"])
def test_a_failed_answer_is_neither_pass_nor_fail(status: Any) -> None:
    """Infrastructure is not quality. The intent has a channel of its own."""
    intent = {"type": "intent_classification", "params": {"expected_intent": "a"}}
    found = only([record([KEYWORD, intent], answer_status=status, intent_pred="b")], Models(judge=judge))
    assert [verdict.passed for verdict in found.verdicts] == [None, False]
    assert status in found.verdicts[0].reason


def test_a_record_without_rules_stays_as_it_is() -> None:
    bare = record([])
    assert with_verdicts([bare])[0] is bare


def test_verdicts_on_file_are_kept_and_decided_anew() -> None:
    """What a judge said is joined to the record; scoring does not ask again."""
    said = Verdict(rule="llm_score", passed=True, score=0.8, scope="last_turn")
    found = only([record([GRADE], verdicts=[said.model_dump()])])
    assert found.verdicts == (said,)
    assert found.rules_passed is True


def test_a_dialog_is_what_the_rules_see() -> None:
    turns = [Turn(sent_message="能退吗", reply="可以退货"), Turn(sent_message="谢谢", reply="不客气")]
    rule = {"type": "keyword_match", "params": {"keywords": ["退货"], "evaluation_scope": "full_dialog"}}
    found = only([record([KEYWORD, rule], dialog=[turn.model_dump() for turn in turns])])
    assert [verdict.passed for verdict in found.verdicts] == [False, True]


def test_no_answer_is_nothing_said() -> None:
    assert only([record([KEYWORD], response=None)]).rules_passed is None


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        pytest.param({"type": "keyword_mach"}, "Did you mean 'keyword_match'", id="name"),
        pytest.param(
            {"type": "keyword_match", "params": {"keyword": ["a"]}}, "unknown keyword", id="parameter"
        ),
        pytest.param({"type": "response_time"}, "missing max_latency_ms", id="missing"),
        pytest.param(
            {"type": "keyword_match", "params": {"min_match_ratio": "much"}},
            "min_match_ratio",
            id="kind of value",
        ),
        pytest.param(
            {"type": "keyword_match", "params": {"min_match_ratio": 1.5}}, "min_match_ratio", id="bound"
        ),
        pytest.param(
            {"type": "keyword_match", "params": {"min_match_ratio": True}}, "min_match_ratio", id="flag"
        ),
        pytest.param(
            {"type": "keyword_match", "params": {"keywords": "退货"}}, "keywords", id="text for a list"
        ),
        pytest.param(
            {"type": "keyword_match", "params": {"keywords": [[]]}}, "keywords", id="no alternative"
        ),
        pytest.param(
            {"type": "llm_score", "params": {"criteria": "x", "evaluation_scope": "any_turn"}},
            "evaluation_scope",
            id="scope that the rule does not have",
        ),
        pytest.param(
            {"type": "llm_score", "params": {"min_score": 11, "criteria": "x"}}, "min_score", id="grade"
        ),
        pytest.param({"type": "llm_score"}, "neither criteria", id="nothing to grade"),
        pytest.param(
            {"type": "llm_score", "params": {"criteria": "x", "judge": "me"}}, "handed in", id="own judge"
        ),
        pytest.param(
            {"type": "json_schema", "params": {"schema": {"$ref": "http://x/y"}}}, "fetched", id="$ref"
        ),
        pytest.param(
            {"type": "keyword_match", "params": {"keywords": ["["], "regex": True}}, "RE2", id="pattern"
        ),
        pytest.param(
            {"type": "task_completion", "params": {"required_slots": [{"description": "?"}]}},
            "required_slots",
            id="slot without name",
        ),
        pytest.param(
            {"type": "task_completion", "params": {"slot_weight": 0.5}}, "sum to 1", id="weights of a half"
        ),
        pytest.param(
            {
                "type": "intent_classification",
                "params": {"expected_intent": "a", "intent_taxonomy": {"b": "乙"}},
            },
            "taxonomy",
            id="label",
        ),
        pytest.param({"type": "safety", "params": {"categories": ["nice"]}}, "nice", id="category"),
    ],
)
def test_rules_that_mean_nothing_are_refused_before_anything_is_asked(
    rule: dict[str, Any], said: str
) -> None:
    """The error names the case, and comes from checking as well as from judging."""
    case = Case.model_validate({"sample_id": "case-7", "query": "能退吗", "rules": [rule]})
    with pytest.raises(UsageError, match="case 'case-7'") as caught:
        check_rules([case])
    assert said in str(caught.value)
    with pytest.raises(UsageError, match="case '1'"):
        with_verdicts([record([rule])])


def test_weighted_without_a_threshold_is_refused() -> None:
    case = Case.model_validate({"sample_id": "1", "query": "?", "rules": [KEYWORD], "rule_logic": "weighted"})
    with pytest.raises(UsageError, match="rule_pass_threshold"):
        check_rules([case])


@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf")])
def test_weights_are_above_nothing(weight: float) -> None:
    """Hazard N14: a weight of 0 or less is a mistake, not a way to switch a rule off."""
    with pytest.raises(ValueError, match="weight"):
        record([{**KEYWORD, "weight": weight}])


def test_sound_rules_pass_the_check_without_a_model() -> None:
    rules = [
        KEYWORD,
        GRADE,
        {"type": "semantic_similarity"},
        {"type": "safety", "params": {"require_moderation": True}},
    ]
    check_rules([Case.model_validate({"sample_id": "1", "query": "?", "rules": rules})])


@pytest.fixture
def stranger() -> Iterator[str]:
    """A rule of somebody else, which fails at every dialog."""
    name = "stranger_rule"

    @register("rule", name)
    def stranger_rule(_case: Case, dialog: Any, *, place: int = 0) -> Verdict:
        return Verdict(rule=name, passed=dialog[place].reply == "?", scope="full_dialog")

    yield name
    del registry._registered["rule", name]


def test_a_rule_that_fails_is_undecided_and_stops_nothing(stranger: str) -> None:
    found = only([record([{"type": stranger, "params": {"place": 5}}, KEYWORD])])
    assert [verdict.passed for verdict in found.verdicts] == [None, True]
    assert found.verdicts[0].reason.startswith("rule_error: IndexError")
    assert found.rules_passed is None


def test_a_stranger_may_be_right(stranger: str) -> None:
    assert only([record([{"type": stranger}], response="?")]).rules_passed is True


def test_a_model_that_breaks_is_a_rule_error() -> None:
    async def broken(_texts: Any) -> Any:
        raise ConnectionError("no route")

    rule = {"type": "semantic_similarity", "params": {"reference": "可以"}}
    found = only([record([rule])], Models(embed=broken))
    assert found.verdicts[0].reason == "rule_error: ConnectionError: no route"


def test_records_with_verdicts_survive_the_way_through_a_file() -> None:
    found = only([record([KEYWORD], expectation={"keywords": ["退货"]})])
    assert EvalRecord.model_validate(json.loads(found.model_dump_json())) == found
