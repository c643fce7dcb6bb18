"""The intent: by the target's own prediction, or by a judge; right, partly right, wrong, or not to be known."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evalkit import EvalRecord
from evalkit.contracts import Case, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.rules.intent_classification import intent_classification

from .conftest import Judge, dialog

TAXONOMY = {"appointment_booking": "预约服务", "inquiry": "咨询信息", "complaint": "投诉反馈"}
SAID = dialog(("我家空调坏了，想预约维修", "请问哪款空调？"), ("柜机", "好的"))


def predicted(*intents: str | None, **fields: Any) -> EvalRecord:
    return EvalRecord(sample_id="1", intent_pred_all=intents, **fields)


def now(verdict: Any) -> Verdict:
    assert isinstance(verdict, Verdict)
    return verdict


@pytest.mark.parametrize(
    ("record", "params", "grade", "passed"),
    [
        pytest.param(predicted("inquiry"), {}, "correct", True, id="right"),
        pytest.param(predicted("complaint"), {}, "wrong", False, id="wrong"),
        pytest.param(predicted("complaint", "inquiry"), {}, "partial", False, id="second guess"),
        pytest.param(
            predicted("complaint", "inquiry"), {"accept_partial": True}, "partial", True, id="accepted"
        ),
        pytest.param(predicted(None, "inquiry"), {}, "correct", True, id="first that is not null"),
        pytest.param(predicted("Inquiry"), {}, "wrong", False, id="labels compare exactly"),
    ],
)
def test_the_target_tells(record: EvalRecord, params: dict[str, Any], grade: str, *, passed: bool) -> None:
    verdict = now(intent_classification(record, SAID, expected_intent="inquiry", **params))
    assert (verdict.detail["grade"], verdict.passed) == (grade, passed)
    assert verdict.score == {"correct": 1.0, "partial": 0.5, "wrong": 0.0}[grade]


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(predicted(), id="no intent told"),
        pytest.param(predicted("inquiry", evidence_status="error"), id="evidence failed"),
        pytest.param(predicted("S17_预约维修"), id="label of another taxonomy"),
        pytest.param(Case(sample_id="1"), id="no record"),
    ],
)
def test_what_cannot_be_compared_is_undecided(record: Case) -> None:
    verdict = now(intent_classification(record, SAID, expected_intent="inquiry", intent_taxonomy=TAXONOMY))
    assert (verdict.passed, verdict.score) == (None, None)
    assert verdict.reason


def test_turns_tell_before_the_record() -> None:
    turns = [Turn(intent_pred="inquiry"), Turn(intent_pred="complaint")]
    record = predicted("complaint")
    assert now(intent_classification(record, turns, expected_intent="inquiry")).passed is True
    last = intent_classification(record, turns, expected_intent="inquiry", evaluation_scope="last_turn")
    assert now(last).passed is False


def test_the_gold_label_of_the_case_is_expected() -> None:
    assert now(intent_classification(predicted("a", intent_l2="a"), SAID)).passed is True


@pytest.mark.parametrize(
    ("judgement", "grade", "score"),
    [
        pytest.param({"label": "appointment_booking"}, "correct", 1.0, id="right"),
        pytest.param(
            {"label": "inquiry", "detail": {"items": {"partial": True}}}, "partial", 0.5, id="partly"
        ),
        pytest.param({"label": "inquiry", "detail": {"items": {"partial": False}}}, "wrong", 0.0, id="wrong"),
        pytest.param(
            {"label": "inquiry", "detail": {"items": {"partial": "yes"}}}, "wrong", 0.0, id="no truth value"
        ),
    ],
)
@pytest.mark.parametrize("accept_partial", [False, True])
def test_the_judge_tells(
    judgement: dict[str, Any], grade: str, score: float, *, accept_partial: bool
) -> None:
    """Mission, functional completeness, second plan, 2.3.2: correct, partial, wrong; `accept_partial`."""
    judge = Judge(**judgement)
    verdict = asyncio.run(
        intent_classification(
            predicted("complaint"),
            SAID,
            expected_intent="appointment_booking",
            intent_taxonomy=TAXONOMY,
            accept_partial=accept_partial,
            judge=judge,
        )
    )
    assert (verdict.detail["grade"], verdict.score) == (grade, score)
    assert verdict.passed is (grade == "correct" or (grade == "partial" and accept_partial))
    assert judge.asked[0].labels == TAXONOMY


@pytest.mark.parametrize(
    "judgement",
    [{"status": "judge_error"}, {"label": "other"}, {"label": None}],
    ids=["error", "label of nobody", "no label"],
)
def test_no_judgement_is_undecided(judgement: dict[str, Any]) -> None:
    verdict = asyncio.run(
        intent_classification(
            predicted("a"),
            SAID,
            expected_intent="inquiry",
            intent_taxonomy=TAXONOMY,
            judge=Judge(**judgement),
        )
    )
    assert (verdict.passed, verdict.score) == (None, None)


def test_by_says_who_tells() -> None:
    judge = Judge(label="complaint")
    params: dict[str, Any] = {"expected_intent": "inquiry", "intent_taxonomy": TAXONOMY}
    assert (
        now(intent_classification(predicted("inquiry"), SAID, by="extractor", judge=judge, **params)).passed
        is True
    )
    assert judge.asked == []
    assert now(intent_classification(predicted("inquiry"), SAID, by="judge", **params)).passed is None


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({}, id="nothing expected"),
        pytest.param({"expected_intent": "refund", "intent_taxonomy": TAXONOMY}, id="expected is no label"),
        pytest.param({"expected_intent": "refund", "by": "judge"}, id="judge without taxonomy"),
    ],
)
def test_what_means_nothing_is_refused(params: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="intent_classification"):
        intent_classification(predicted("inquiry"), SAID, **params)
