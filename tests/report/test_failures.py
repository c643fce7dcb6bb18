"""A failed sample says which gates it broke, in their order, and is charged to the first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.engines.local import local
from evalkit.records import Records
from evalkit.report.csv import per_sample
from evalkit.report.failures import Failures, as_lines, failures
from evalkit.report.reasons import GATES
from evalkit.report.summary import summary
from evalkit.slices import slice_mean


def found(*records: EvalRecord) -> Failures:
    return failures(Records.of(list(records)), local(list(records)))


def case(**fields: Any) -> EvalRecord:
    return EvalRecord.model_validate({"sample_id": "1", "query": "能退吗？"} | fields)


RETRIEVAL = {"intent_l2": "A", "intent_pred": "A", "requires_rag": True, "reference_doc_ids": ["D1", "D2"]}
TASK = {"required_slots": [{"name": "phone", "value": "13800138000"}, {"name": "fault"}]}

BROKEN = [
    (
        {"answer_status": "rejected", "answer_error": {"kind": "rejected", "message": "系统繁忙"}},
        "channel",
        "answer_rejected",
        "the answer channel ended as rejected: rejected 系统繁忙",
    ),
    (
        {"evidence_status": "error", "evidence_error": {"kind": "http_status", "http_status": 500}},
        "channel",
        "evidence_error",
        "the evidence channel ended as error: http_status 500",
    ),
    (
        {"answer_status": "incomplete"},
        "channel",
        "answer_incomplete",
        "the answer channel ended as incomplete",
    ),
    ({"intent_l2": "A", "intent_pred": "B"}, "intent", "wrong_intent", "intent B, expected A"),
    ({"intent_l2": "A"}, "intent", "no_intent", "no intent given, expected A"),
    (
        RETRIEVAL | {"retrieved_doc_ids": []},
        "retrieval",
        "nothing_retrieved",
        "nothing retrieved, expected D1, D2",
    ),
    (
        RETRIEVAL | {"retrieved_doc_ids": ["X", "Y", "X"]},
        "retrieval",
        "documents_missed",
        "no right document among 2, expected D1, D2",
    ),
    (
        RETRIEVAL | {"retrieved_doc_ids": ["D1", "X"]},
        "retrieval",
        "documents_incomplete",
        "documents missing or far down: D2",
    ),
    (
        RETRIEVAL | {"retrieved_doc_ids": [*(f"X{n}" for n in range(10)), "D1", "D2"]},
        "retrieval",
        "documents_incomplete",
        "documents missing or far down: D1, D2",
    ),
    (
        {"requires_rag": False, "retrieved_doc_ids": ["X"]},
        "retrieval",
        "needless_retrieval",
        "1 documents retrieved, none needed",
    ),
    (
        TASK | {"filled_slots": {"phone": "13800138000"}},
        "completion",
        "slots_missing",
        "slots not filled: fault",
    ),
    (
        TASK | {"filled_slots": {"phone": "13900139000", "fault": "不转"}},
        "completion",
        "wrong_values",
        "slots without their right value: phone",
    ),
    (
        {
            "required_steps": [{"name": "ask"}, {"name": "book", "after": ["ask"]}],
            "done_steps": ["book", "ask"],
        },
        "completion",
        "steps_missing",
        "steps not done, or not in their order: book",
    ),
    (
        {"expected_tools": [{"name": "book"}], "tool_calls": [{"name": "list"}]},
        "completion",
        "tools_differ",
        "tools called: list; expected: book",
    ),
    (
        {
            "expected_tools": [{"name": "book", "arguments": {"day": "周一", "n": 1}}],
            "tool_calls": [{"name": "book", "arguments": {"day": "周二", "n": 1.0}}],
        },
        "completion",
        "wrong_arguments",
        "arguments differ: book.day",
    ),
    (
        {"requires_rag": True, "response": "未检索到与问题相关的文档内容。"},
        "answer",
        "fallback_answer",
        "answered that nothing was found, though documents were needed",
    ),
    ({"response": " \n"}, "answer", "empty_answer", "the answer is empty"),
]


@pytest.mark.parametrize(("fields", "gate", "kind", "text"), BROKEN, ids=[row[2] for row in BROKEN])
def test_reasons(fields: dict[str, Any], gate: str, kind: str, text: str) -> None:
    (failure,) = found(case(**fields)).failed
    (reason,) = failure.reasons
    assert (reason.gate, reason.kind, reason.text) == (gate, kind, text)


@pytest.mark.parametrize(
    "fields",
    [
        {"intent_l2": "A", "intent_pred": "A"},
        RETRIEVAL | {"retrieved_doc_ids": ["X", "D2", "D1"]},
        {"requires_rag": False, "retrieved_doc_ids": []},
        TASK | {"filled_slots": {"phone": "138 0013 8000", "fault": "不转", "x": 1}} | {"required_slots": []},
        {"expected_tools": [], "tool_calls": []},
    ],
    ids=["intent", "documents", "no documents", "slots", "no tools"],
)
def test_what_is_right_is_no_failure(fields: dict[str, Any]) -> None:
    assert not found(case(**fields)).failed


def test_reasons_stand_in_the_order_of_the_gates_and_the_first_is_charged() -> None:
    broken = RETRIEVAL | {"intent_pred": "B", "retrieved_doc_ids": [], "response": ""}
    (failure,) = found(case(**broken)).failed
    gates = [reason.gate for reason in failure.reasons]
    assert gates == ["intent", "retrieval", "answer"]
    assert failure.gate == "intent"


def test_a_failed_channel_breaks_no_gate_behind_it() -> None:
    """Infrastructure is not quality: nothing was measured of intent and documents."""
    (failure,) = found(case(**RETRIEVAL, evidence_status="error")).failed
    assert [reason.kind for reason in failure.reasons] == ["evidence_error"]


def test_a_channel_never_asked_did_not_fail() -> None:
    result = found(case(answer_status="skipped", evidence_status="skipped"))
    assert (len(result.failed), result.passed, result.unjudged) == (0, 0, 1)


def test_a_sample_without_labels_neither_passed_nor_failed() -> None:
    result = found(case(response="你好"), case(sample_id="2", intent_l2="A", intent_pred="A"))
    assert (len(result.failed), result.passed, result.unjudged, result.total) == (0, 1, 1, 2)


def test_charges_add_up_to_the_failures(rich_run: list[EvalRecord]) -> None:
    result = found(*rich_run)
    assert list(result.by_gate) == list(GATES)
    assert sum(result.by_gate.values()) == sum(result.by_kind.values()) == len(result.failed) > 0
    assert result.total == len(rich_run)


def test_reasons_follow_the_score_columns(rich_run: list[EvalRecord]) -> None:
    """A sample has a wrong or missing intent exactly where intent_top1 counts and is 0."""
    (top1,) = (result for result in local(rich_run) if result.name == "intent_top1")
    told = {
        failure.record.key
        for failure in found(*rich_run).failed
        if any(reason.gate == "intent" for reason in failure.reasons)
    }
    assert told == {key for key, score in top1.per_sample.items() if score == 0}


def test_without_a_metric_its_gate_stays_shut() -> None:
    records = [case(intent_l2="A", intent_pred="B")]
    other = MetricResult("other", *slice_mean(records, lambda _: 1.0))
    assert failures(Records.of(records), [other]) == Failures((), 0, 1)


def test_lines_hold_the_whole_failure() -> None:
    fields = {"intent_l2": "A", "intent_pred": "B", "response": "长" * 9000, "repeat": 2}
    lines = as_lines(found(case(**fields)), run_id="01RUN").decode().splitlines()
    assert json.loads(lines[0]) == {
        "run_id": "01RUN",
        "sample_id": "1",
        "repeat": 2,
        "failed_at": "intent",
        "reasons": [
            {
                "gate": "intent",
                "kind": "wrong_intent",
                "text": "intent B, expected A",
                "expected": "A",
                "found": "B",
            }
        ],
        "query": "能退吗？",
        "intent_l1": None,
        "intent_l2": "A",
        "response": "长" * 9000,
        "answer_error": None,
        "evidence_error": None,
    }


def test_no_failure_no_line() -> None:
    assert as_lines(found(case()), run_id="r") == b""


class Fresh(Sequence[EvalRecord]):
    """Rows that are made anew whenever somebody asks, as those of a large file are."""

    def __init__(self, rows: list[EvalRecord]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index].model_copy()


def test_rows_that_are_made_anew_are_charged_all_the_same(make_digest, rich_run: list[EvalRecord]) -> None:
    kept, fresh = make_digest(rich_run), make_digest(Records(Fresh(rich_run)))
    assert kept.failures.failed
    assert summary(fresh, files=()) == summary(kept, files=())
    assert per_sample(fresh) == per_sample(kept)
