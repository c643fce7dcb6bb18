"""What an expectation implies, and whether the target did what it was asked."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit import EvalRecord
from evalkit.contracts import Case, Expectation, RuleSpec, SlotSpec, ToolCall, Turn
from evalkit.rules.expectation import implied, should_succeed


@pytest.mark.parametrize(
    ("expectation", "rules"),
    [
        pytest.param(None, [], id="none"),
        pytest.param(Expectation(), [], id="empty"),
        pytest.param(
            Expectation(keywords=("退货",)),
            [("keywords", RuleSpec(type="keyword_match", params={"keywords": ["退货"]}))],
            id="keywords",
        ),
        pytest.param(
            Expectation(forbidden=("保证",)),
            [
                (
                    "forbidden",
                    RuleSpec(
                        type="keyword_match",
                        params={"forbidden": ["保证"], "evaluation_scope": "every_agent_turn"},
                    ),
                )
            ],
            id="forbidden",
        ),
        pytest.param(
            Expectation(max_latency_ms=800),
            [
                (
                    "max_latency_ms",
                    RuleSpec(
                        type="response_time",
                        params={"max_latency_ms": 800.0, "evaluation_scope": "every_agent_turn"},
                    ),
                )
            ],
            id="latency",
        ),
        pytest.param(
            Expectation(behavior="先道歉"),
            [
                (
                    "behavior",
                    RuleSpec(
                        type="llm_score", params={"criteria": "先道歉", "evaluation_scope": "full_dialog"}
                    ),
                )
            ],
            id="behaviour",
        ),
        pytest.param(
            Expectation(should_succeed=False),
            [("should_succeed", RuleSpec(type="should_succeed", params={"expected": False}))],
            id="should fail",
        ),
    ],
)
def test_each_given_field_is_a_rule(expectation: Expectation | None, rules: list[Any]) -> None:
    assert implied(expectation) == rules


FAILED = ToolCall(name="book", error="约满")
DONE = ToolCall(name="book")


@pytest.mark.parametrize(
    ("calls", "expected", "passed"),
    [
        pytest.param([DONE], True, True, id="did, as it should"),
        pytest.param([DONE], False, False, id="did, and should not"),
        pytest.param([FAILED], True, False, id="failed, and should not"),
        pytest.param([FAILED], False, True, id="failed, as it should"),
        pytest.param([FAILED, DONE], True, True, id="at the second try"),
        pytest.param([DONE, ToolCall(name="pay", error="x")], True, False, id="another failed"),
        pytest.param([], True, None, id="nothing tells"),
    ],
)
def test_tools_tell_whether_it_succeeded(
    calls: list[ToolCall], *, expected: bool, passed: bool | None
) -> None:
    verdict = should_succeed(Case(sample_id="1"), [Turn(tool_calls=tuple(calls))], expected=expected)
    assert verdict.passed is passed


@pytest.mark.parametrize(
    ("filled", "passed"),
    [({"phone": "13800138000"}, True), ({}, False)],
    ids=["gathered", "not gathered"],
)
def test_what_the_case_requires_tells_first(filled: dict[str, Any], *, passed: bool) -> None:
    record = EvalRecord(
        sample_id="1",
        required_slots=[SlotSpec(name="phone")],
        filled_slots=filled,
        tool_calls=[FAILED],
        response="好",
    )
    assert should_succeed(record, ()).passed is passed


def test_a_requirement_that_nothing_tells_of_is_undecided() -> None:
    record = EvalRecord(sample_id="1", required_slots=[SlotSpec(name="mood")], response="好")
    assert should_succeed(record, ()).passed is None
