"""A record whose rules do not hold has failed, at the gate of the verdict's layer, and says which rule and why."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evalkit.contracts import EvalRecord
from evalkit.engines.local import local
from evalkit.engines.rules import with_verdicts
from evalkit.records import Records
from evalkit.report.digest import Digest, Run, digest
from evalkit.report.failures import Failures, as_lines
from evalkit.report.fix_first import fix_first
from evalkit.report.funnel import funnel
from evalkit.report.html import page
from evalkit.report.markdown import document


def rule(kind: str, *, layer: str | None = None, **params: Any) -> dict[str, Any]:
    return {"type": kind, "params": params, "layer": layer}


def case(*rules: dict[str, Any], **fields: Any) -> EvalRecord:
    told = {"sample_id": "1", "query": "能退吗？", "response": "七天内可以退货。", "rules": rules}
    return EvalRecord.model_validate(told | fields)


def digested(*records: EvalRecord) -> Digest:
    table: Records = with_verdicts(list(records))
    return digest(Run("01RUN", table, local(table)))


def found(*records: EvalRecord) -> Failures:
    return digested(*records).failures


HOLDS = rule("keyword_match", keywords=["退货"])
FAILS = rule("keyword_match", keywords=["换货"])
UNDECIDED = rule("llm_score", criteria="礼貌")


@pytest.mark.parametrize(
    ("record", "gate", "text"),
    [
        pytest.param(
            case(FAILS),
            "answer",
            'rule keyword_match failed: found: lacks 1 of 1: 换货; wanted: keywords ["换货"]',
            id="no layer",
        ),
        pytest.param(
            case(rule("keyword_match", layer="completion", keywords=["换货"])),
            "completion",
            'rule keyword_match failed: found: lacks 1 of 1: 换货; wanted: keywords ["换货"]',
            id="completion",
        ),
        pytest.param(
            case(rule("keyword_match", layer="intent", forbidden=["退货"])),
            "intent",
            'rule keyword_match failed: found: says the forbidden 退货; wanted: forbidden ["退货"]',
            id="intent",
        ),
        pytest.param(
            case(expectation={"keywords": ["换货"]}),
            "answer",
            'rule expectation.keywords failed: found: lacks 1 of 1: 换货; wanted: keywords ["换货"]',
            id="expectation",
        ),
        pytest.param(
            case(HOLDS, FAILS),
            "answer",
            'rule keyword_match[1] failed: found: lacks 1 of 1: 换货; wanted: keywords ["换货"]',
            id="the second of two",
        ),
        pytest.param(
            case(
                rule("keyword_match", keywords=["退货", "运费"], min_match_ratio=0.5),
                rule_logic="weighted",
                rule_pass_threshold=0.9,
            ),
            "answer",
            "the rules do not hold together: found: scores keyword_match 0.5; wanted: 0.9 when weighed",
            id="each holds, too little together",
        ),
    ],
)
def test_a_failed_rule_is_a_failure(record: EvalRecord, gate: str, text: str) -> None:
    (failure,) = found(record).failed
    assert failure.gate == gate
    assert [reason.text for reason in failure.reasons] == [text]


def test_only_what_decided_is_a_reason() -> None:
    """`any` holds by one of two; the expectation alone fails the case."""
    (failure,) = found(case(HOLDS, FAILS, rule_logic="any", expectation={"forbidden": ["七天"]})).failed
    assert [reason.found["rule"] for reason in failure.reasons] == ["expectation.forbidden"]
    assert failure.reasons[0].expected == {"forbidden": ["七天"], "evaluation_scope": "every_agent_turn"}


def test_what_holds_was_judged_and_what_is_undecided_was_not() -> None:
    records = [case(HOLDS), case(UNDECIDED, sample_id="2"), case(FAILS, sample_id="3")]
    told = found(*records)
    assert (len(told.failed), told.passed, told.unjudged) == (1, 1, 1)
    assert [failure.record.sample_id for failure in told.failed] == ["3"]


def test_a_rule_of_the_intent_comes_before_what_is_missing() -> None:
    record = case(
        rule("intent_classification", expected_intent="A"),
        intent_pred="B",
        required_slots=[{"name": "phone"}],
        filled_slots={},
    )
    (failure,) = found(record).failed
    assert [reason.gate for reason in failure.reasons] == ["intent", "completion"]


def test_a_channel_that_failed_fails_no_rule() -> None:
    """Infrastructure is not quality."""
    (failure,) = found(case(FAILS, answer_status="error", response=None)).failed
    assert [reason.gate for reason in failure.reasons] == ["channel"]


def test_the_funnel_and_the_remedies_have_the_same_failures() -> None:
    told = digested(case(HOLDS), case(FAILS, sample_id="2"), case(UNDECIDED, sample_id="3"))
    stages = funnel(told.charges)
    assert {stage.gate: stage.charged for stage in stages.stages} == told.failures.by_gate
    assert (stages.failed, stages.passed, stages.unjudged) == (1, 1, 1)
    (first, *_) = fix_first(told).suggestions
    assert first.title.startswith("the rule keyword_match does not hold")


def test_every_output_shows_the_reason() -> None:
    told = digested(case(FAILS))
    (line,) = as_lines(told.failures, run_id="01RUN").decode().splitlines()
    (reason,) = json.loads(line)["reasons"]
    assert (json.loads(line)["failed_at"], reason["kind"]) == ("answer", "rule_failed")
    assert reason["expected"] == {"keywords": ["换货"]}
    assert reason["found"]["detail"]["missing"] == ["换货"]
    for text in (page(told), document(told)):
        assert "lacks 1 of 1: 换货" in text.decode()
