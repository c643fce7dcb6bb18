"""Suggestions: each kind of fault is named, with its samples, its remedy and what it would win."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit.contracts import EvalRecord
from evalkit.report.fix_first import fix_first
from evalkit.report.suggestions import Suggestion


def ask(n: int, **fields: Any) -> list[EvalRecord]:
    """So many records alike, each a case of its own."""
    mark = "-".join(str(value) for value in fields.values())
    return [
        EvalRecord.model_validate(
            {"sample_id": f"{mark[:180]}-{row}", "query": f"{mark[:40]} {row}", **fields}
        )
        for row in range(n)
    ]


def intent(gold: str, pred: str | None, n: int) -> list[EvalRecord]:
    return ask(n, intent_l2=gold, intent_pred=pred)


def found(make_digest: Any, records: list[EvalRecord]) -> list[Suggestion]:
    return [*make_digest(records).suggestions]


DOC = {"requires_rag": True, "intent_l2": "S", "intent_pred": "S"}
CALL = {"name": "book", "arguments": {"day": "1"}}
DIALOG = {"response": "好的", "done_steps": [], "filled_slots": {}, "tool_calls": []}

CASES = [
    pytest.param(
        [*intent("S3", "S1", 5), *intent("S3", "S3", 5), *intent("S1", "S1", 10)],
        ("intent_taken_for", ("S3", "S1"), 5, 10),
        "S3 is taken for S1: 5/10 samples",
        id="one way",
    ),
    pytest.param(
        [*intent("S3", "S1", 3), *intent("S1", "S3", 2), *intent("S1", "S1", 5)],
        ("intents_overlap", ("S1", "S3"), 5, 10),
        "S1 and S3 are taken for each other: 2 and 3 of 10 samples",
        id="both ways",
    ),
    pytest.param(
        [*intent("A", "X", 2), *intent("B", "X", 2), *intent("C", "X", 2), *intent("X", "X", 4)],
        ("broad_intent", ("X",), 6, 6),
        "3 other intents are taken for X: 6/6 samples, most of A (2), B (2), C (2)",
        id="an intent that swallows others",
    ),
    pytest.param(
        [*intent("A", None, 3), *intent("B", "B", 7)],
        ("abstention", (), 3, 10),
        "no intent was given: 3/10 samples, most of A (3)",
        id="abstentions",
    ),
    pytest.param(
        [
            *ask(3, **DOC, reference_doc_ids=["D1"], retrieved_doc_ids=["D2"]),
            *ask(3, **DOC, reference_doc_ids=["D2"], retrieved_doc_ids=["D2"]),
        ],
        ("document_never_retrieved", ("D1",), 3, 3),
        "document D1 is never retrieved: 3/3 samples that need it",
        id="a document that is never retrieved",
    ),
    pytest.param(
        [
            *ask(2, **DOC, reference_doc_ids=["D1"], retrieved_doc_ids=["D2"]),
            *ask(3, **DOC, reference_doc_ids=["D1"], retrieved_doc_ids=["D1", "D2"]),
        ],
        ("weak_retrieval", ("S",), 2, 5),
        "retrieval misses documents of S: 2/5 samples",
        id="a document that others get",
    ),
    pytest.param(
        ask(4, **DOC, reference_doc_ids=["D1"], retrieved_doc_ids=[]),
        ("empty_retrieval", ("S",), 4, 4),
        "nothing is retrieved for S: 4/4 samples",
        id="nothing retrieved",
    ),
    pytest.param(
        [
            *ask(2, intent_l2="C1", intent_pred="C1", requires_rag=False, retrieved_doc_ids=["D1"]),
            *ask(2, intent_l2="C1", intent_pred="C1", requires_rag=False, retrieved_doc_ids=[]),
        ],
        ("over_retrieval", (), 2, 4),
        "documents are retrieved where none are needed: 2/4 samples, most of C1 (2)",
        id="documents for small talk",
    ),
    pytest.param(
        ask(3, **DIALOG, required_slots=[{"name": "phone"}]),
        ("slot_not_filled", ("phone",), 3, 3),
        "slot phone is never filled: 3/3 samples",
        id="a slot that is never filled",
    ),
    pytest.param(
        [
            *ask(1, **DIALOG, required_slots=[{"name": "day"}]),
            *ask(2, **{**DIALOG, "filled_slots": {"day": "1"}}, required_slots=[{"name": "day"}]),
        ],
        ("slot_not_filled", ("day",), 1, 3),
        "slot day is not filled: 1/3 samples",
        id="a slot that is filled at times",
    ),
    pytest.param(
        ask(2, **DIALOG, expected_tools=[CALL]),
        ("tool_not_called", ("book",), 2, 2),
        "tool book is never called: 2/2 samples",
        id="a tool that is never called",
    ),
    pytest.param(
        ask(2, **{**DIALOG, "tool_calls": [CALL]}, expected_tools=[]),
        ("needless_tool", ("book",), 2, 2),
        "tool book is called where it should not be: 2/2 samples",
        id="a tool that should not be called",
    ),
    pytest.param(
        ask(2, **{**DIALOG, "tool_calls": [{**CALL, "arguments": {"day": "2"}}]}, expected_tools=[CALL]),
        ("wrong_argument", ("book.day",), 2, 2),
        "argument book.day is never right: 2/2 samples",
        id="wrong arguments",
    ),
    pytest.param(
        [
            *ask(1, answer_status="rejected", answer_error={"kind": "rejected", "message": "系统繁忙"}),
            *ask(4, response="好的", answer_status="ok"),
        ],
        ("channel_error", ("answer", "rejected"), 1, 1),
        "the answer channel failed with rejected: 1/1 samples",
        id="a channel that failed",
    ),
    pytest.param(
        ask(2, response="", answer_status="ok"),
        ("empty_answer", (), 2, 2),
        "the answer is empty: 2/2 samples",
        id="an empty answer",
    ),
]


@pytest.mark.parametrize(("records", "wanted", "title"), CASES)
def test_each_kind_of_fault_is_named(
    make_digest, records: list[EvalRecord], wanted: tuple[str, tuple[str, ...], int, int], title: str
) -> None:
    first = found(make_digest, records)[0]
    assert (first.kind, first.subject, first.n, first.at_risk) == wanted
    assert first.title.startswith(title)
    assert first.advice
    assert len(first.keys) == first.n
    assert first.gain.low is not None


def test_the_gain_is_of_the_samples_that_pass(make_digest) -> None:
    """5 of 20 wrong, of 10 that could be: 25 points; Wilson's 5/10 is 23.7 to 76.3 %, times a half."""
    records = [*intent("S3", "S1", 5), *intent("S3", "S3", 5), *intent("S1", "S1", 10)]
    (only,) = found(make_digest, records)
    assert only.gain.told == "+25.0 points (11.8–38.2)"


def test_suggestions_stand_by_the_lower_bound(make_digest, rich_run: list[EvalRecord]) -> None:
    lows = [each.gain.low or 0.0 for each in found(make_digest, rich_run)]
    assert lows == sorted(lows, reverse=True)


def test_a_sample_with_two_missing_slots_counts_half_for_each(make_digest) -> None:
    records = ask(4, **DIALOG, required_slots=[{"name": "phone"}, {"name": "day"}])
    told = found(make_digest, records)
    assert {each.subject: (each.n, each.gain.value) for each in told} == {
        ("phone",): (4, 0.5),
        ("day",): (4, 0.5),
    }


def test_what_is_spread_evenly_is_one_cause(make_digest) -> None:
    """Nothing is retrieved for four intents alike: that is one fault, not four."""
    records = [
        record
        for label in "ABCD"
        for record in ask(
            3,
            intent_l2=label,
            intent_pred=label,
            requires_rag=True,
            reference_doc_ids=["D"],
            retrieved_doc_ids=[],
        )
    ]
    (only,) = found(make_digest, records)
    assert (only.kind, only.n, set(only.subject)) == ("empty_retrieval", 12, set("ABCD"))
    assert only.title.startswith("nothing is retrieved for 4 intents: 12/12 samples")


def test_samples_that_break_a_later_gate_too_are_told(make_digest) -> None:
    broken = {"requires_rag": True, "reference_doc_ids": ["D"], "retrieved_doc_ids": []}
    (only,) = found(make_digest, ask(2, intent_l2="A", intent_pred="B", **broken))
    assert (only.kind, only.again) == ("intent_taken_for", 2)


def test_no_failure_no_suggestion(make_digest) -> None:
    assert fix_first(make_digest(intent("A", "A", 3))).first == ()


def test_it_is_worked_out_once_a_digest(make_digest, ten_questions: list[EvalRecord]) -> None:
    digest = make_digest(ten_questions)
    assert fix_first(digest) is fix_first(digest)
    assert fix_first(digest, metric="intent_top3") is not fix_first(digest)
