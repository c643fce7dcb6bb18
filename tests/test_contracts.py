"""Cases, observations and records: what is read, what is kept, what is refused."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from evalkit.contracts import (
    Case,
    EvalRecord,
    Expectation,
    Manifest,
    Mean,
    MetricResult,
    Observation,
    SlotSpec,
    ToolCall,
    Turn,
)

PUBLISHED = {
    "query_id": "q-001",
    "user_input": "买了两周的耳机能退吗",
    "ground_truth": "签收七天内可以无理由退货。",
    "intent_l2": "S14_退换货咨询",
    "expected_doc_ids": ["POLICY_RETURN_002"],
    "expected_doc_ids_nice": ["FAQ_RET_001"],
    "intent_pred_all": [None, "S14_退换货咨询"],
    "retrieved_doc_ids_raw": ["POLICY_RETURN_002", "POLICY_RETURN_002", "FAQ_RET_001"],
}
"""One line in the published layout, with its own field names."""


def test_the_published_layout_is_read_under_our_names() -> None:
    record = EvalRecord.model_validate(PUBLISHED)
    assert record.sample_id == "q-001"
    assert record.query == "买了两周的耳机能退吗"
    assert record.reference == "签收七天内可以无理由退货。"
    assert record.reference_doc_ids == ("POLICY_RETURN_002",)
    assert record.reference_doc_ids_nice == ("FAQ_RET_001",)
    assert record.retrieved_doc_ids == ("POLICY_RETURN_002", "POLICY_RETURN_002", "FAQ_RET_001")
    assert not record.model_extra


@pytest.mark.parametrize(
    ("model", "alias", "field", "value"),
    [
        (Case, "id", "sample_id", "a"),
        (Case, "question", "query", "怎么退货"),
        (Case, "eval_rules", "rules", [{"type": "keyword_match"}]),
        (ToolCall, "tool", "name", "query_order"),
        (ToolCall, "tool_name", "name", "query_order"),
        (ToolCall, "args", "arguments", {"order_id": "A1"}),
        (ToolCall, "parameters", "arguments", {"order_id": "A1"}),
    ],
)
def test_an_alias_and_the_name_give_the_same_value(
    model: type[Case | ToolCall], alias: str, field: str, value: object
) -> None:
    needed = {"sample_id": "a", "name": "x"}
    by_name = model.model_validate({**needed, field: value})
    needed.pop(field, None)
    assert getattr(model.model_validate({**needed, alias: value}), field) == getattr(by_name, field)


def test_the_name_wins_over_its_alias_and_the_alias_is_kept() -> None:
    case = Case.model_validate({"sample_id": "a", "query_id": "b"})
    assert case.sample_id == "a"
    assert case.model_extra == {"query_id": "b"}


NESTED: dict[str, Any] = {
    "sample_id": "a",
    "new": {"deep": [1, None, "x"]},
    "required_slots": [{"name": "phone", "new": 1}],
    "required_steps": [{"name": "ask", "new": 1}],
    "expected_tools": [{"name": "t", "new": 1}],
    "rules": [{"type": "safety", "new": 1}],
    "expectation": {"behavior": "refuse", "new": 1},
    "dialog": [{"reply": "好的", "new": 1, "tool_calls": [{"name": "t", "new": 1}]}],
    "tool_calls": [{"name": "t", "new": 1}],
    "answer_error": {"kind": "http_status", "new": 1},
    "answer_attempts": [{"status": "error", "new": 1, "error": {"kind": "x", "new": 1}}],
    "answer_timings": {"end_ms": 3.5, "new": 1},
    "usage": {"total_tokens": 3, "new": 1},
}


def _holds(part: Any, whole: Any) -> bool:
    """Whether everything in `part` stands in `whole`, level by level."""
    if isinstance(part, dict):
        return all(key in whole and _holds(value, whole[key]) for key, value in part.items())
    if isinstance(part, list):
        return len(part) == len(whole) and all(_holds(a, b) for a, b in zip(part, whole, strict=True))
    return bool(part == whole)


def test_unknown_fields_survive_at_every_level() -> None:
    record = EvalRecord.model_validate(NESTED)
    assert _holds(NESTED, record.model_dump(mode="json"))
    assert EvalRecord.model_validate_json(record.model_dump_json()) == record


def test_a_record_built_by_hand_counts_as_ok() -> None:
    record = EvalRecord(sample_id="a", intent_l2="S3", intent_pred=None)
    assert record.answer_status == "ok"
    assert record.evidence_status == "ok"
    assert record.intent_pred is None
    assert record.retrieved_doc_ids is None


def test_a_line_begins_with_the_case() -> None:
    halves = [*Case.model_fields, *Observation.model_fields]
    assert halves[0] == "sample_id"
    assert list(EvalRecord.model_fields)[: len(halves)] == halves


def test_null_lists_and_objects_are_empty() -> None:
    """Somebody who writes every field writes null where there is nothing."""
    empty = [
        *("messages", "reference_doc_ids", "reference_doc_ids_nice", "tags", "required_slots"),
        *("required_steps", "rules", "dialog", "intent_pred_all", "sub_questions", "answer_attempts"),
        *("evidence_attempts", "flags", "trace_ids"),
    ]
    record = EvalRecord.model_validate({"sample_id": "a", **dict.fromkeys(empty)})
    assert all(len(getattr(record, name)) == 0 for name in empty)


@pytest.mark.parametrize(
    "name",
    ["expected_tools", "tool_calls", "filled_slots", "done_steps", "retrieved_doc_ids", "retrieved_contexts"],
)
def test_null_and_empty_stay_apart_where_they_mean_different_things(name: str) -> None:
    empty: Any = {} if name == "filled_slots" else []
    assert getattr(EvalRecord.model_validate({"sample_id": "a", name: None}), name) is None
    assert len(getattr(EvalRecord.model_validate({"sample_id": "a", name: empty}), name)) == 0


def test_values_are_frozen() -> None:
    record = EvalRecord(sample_id="a")
    with pytest.raises(ValidationError, match="frozen"):
        record.response = "x"  # type: ignore[misc]
    turn = Turn(reply="x")
    with pytest.raises(ValidationError, match="frozen"):
        turn.reply = "y"  # type: ignore[misc]


@pytest.mark.parametrize(("repeat", "key"), [(0, "a"), (1, "a#1"), (12, "a#12")])
def test_a_key_names_the_repeat(repeat: int, key: str) -> None:
    assert EvalRecord(sample_id="a", repeat=repeat).key == key


@pytest.mark.parametrize(
    ("value", "read"), [(7, "7"), (0, "0"), (-3, "-3"), ("007", "007"), ("七", "七")], ids=str
)
def test_whole_numbers_are_ids_by_their_digits(value: object, read: str) -> None:
    record = EvalRecord.model_validate(
        {"sample_id": value, "retrieved_doc_ids": [value], "trace_ids": {"conversation": value}}
    )
    assert record.sample_id == read
    assert record.retrieved_doc_ids == (read,)
    assert record.trace_ids == {"conversation": read}


@pytest.mark.parametrize("value", [1.5, 2.0, True, "", None, [], "x" * 257], ids=repr)
def test_what_could_be_two_ids_is_none(value: object) -> None:
    with pytest.raises(ValidationError):
        Case.model_validate({"sample_id": value})


@pytest.mark.parametrize(
    ("given", "pred"),
    [
        ({"intent_pred_all": [None, "", "S3", "S4"]}, "S3"),
        ({"intent_pred_all": ["S3"], "intent_pred": "S4"}, "S4"),
        ({"intent_pred_all": ["S3"], "intent_pred": None}, "S3"),
        ({"intent_pred_all": ["S3"], "intent_pred": ""}, "S3"),
        ({"intent_pred_all": [None, ""]}, None),
        ({"intent_pred_all": []}, None),
        ({"intent_pred_all": None}, None),
        ({}, None),
    ],
    ids=repr,
)
def test_the_prediction_is_the_first_that_is_not_empty(given: dict[str, Any], pred: str | None) -> None:
    assert EvalRecord.model_validate({"sample_id": "a", **given}).intent_pred == pred


@pytest.mark.parametrize("value", [5, "S3", {"a": 1}, [1], [["S3"]]], ids=repr)
def test_predictions_that_are_no_list_of_labels_are_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        EvalRecord.model_validate({"sample_id": "a", "intent_pred_all": value})


@pytest.mark.parametrize(
    "record", [EvalRecord(sample_id="a"), 3, "x", None], ids=["model", "int", "str", "null"]
)
def test_what_is_no_mapping_is_left_to_the_model(record: object) -> None:
    if isinstance(record, EvalRecord):
        assert EvalRecord.model_validate(record) is record
    else:
        with pytest.raises(ValidationError):
            EvalRecord.model_validate(record)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "NaN", "Infinity", -1], ids=repr)
@pytest.mark.parametrize("field", ["ttft_ms", "total_ms"])
def test_durations_are_finite_and_not_negative(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        EvalRecord.model_validate({"sample_id": "a", field: value})


@pytest.mark.parametrize("value", [float("nan"), "nan", -0.1], ids=repr)
def test_weights_are_finite_and_not_negative(value: object) -> None:
    with pytest.raises(ValidationError):
        Case.model_validate({"sample_id": "a", "rules": [{"type": "safety", "weight": value}]})


def test_numbers_within_results_are_finite() -> None:
    with pytest.raises(ValidationError):
        ToolCall(name="t", result={"price": float("nan")})


@pytest.mark.parametrize(
    "messages", [["你好", "退货"], [{"role": "user", "content": "你好"}, "退货"]], ids=["texts", "chat"]
)
def test_user_turns_are_texts_or_chat_messages(messages: list[Any]) -> None:
    case = Case.model_validate({"sample_id": "a", "query": "x", "messages": messages})
    assert case.user_turns == ("你好", "退货")


def test_what_the_assistant_says_is_no_user_turn() -> None:
    with pytest.raises(ValidationError):
        Case.model_validate({"sample_id": "a", "messages": [{"role": "assistant", "content": "你好"}]})


def test_a_query_alone_is_the_one_turn() -> None:
    assert Case(sample_id="a", query="怎么退货").user_turns == ("怎么退货",)


@pytest.mark.parametrize(
    ("given", "needs"),
    [
        ({}, None),
        ({"requires_rag": False}, False),
        ({"requires_rag": True}, True),
        ({"reference_doc_ids": ["d"]}, True),
        ({"reference_doc_ids": ["d"], "requires_rag": False}, False),
    ],
    ids=repr,
)
def test_gold_documents_need_retrieval_unless_somebody_says_no(given: dict[str, Any], needs: object) -> None:
    assert Case.model_validate({"sample_id": "a", **given}).needs_retrieval is needs


def test_a_sentence_is_an_expectation() -> None:
    case = Case.model_validate({"sample_id": "a", "expectation": "礼貌地拒绝"})
    assert case.expectation == Expectation(behavior="礼貌地拒绝")
    assert SlotSpec(name="phone").aliases == ()


def test_a_manifest_reads_itself() -> None:
    manifest = Manifest.model_validate(
        {
            "run_id": "r",
            "eval_set": "a.jsonl",
            "eval_set_sha256": "0" * 64,
            "target": "demo",
            "evalkit_version": "0.1.0",
            "started_at": "2026-01-02T03:04:05Z",
            "selection": None,
        }
    )
    assert manifest.state == "running"
    assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda mean: pickle.loads(pickle.dumps(mean))])  # noqa: S301
def test_a_mean_never_parts_from_its_denominator(again: Any) -> None:
    mean = again(Mean(0.8, 8, 10))
    assert (mean, mean.n_counted, mean.n_total) == (0.8, 8, 10)


def test_results_can_be_taken_apart() -> None:
    result = MetricResult("m", Mean(0.5, 1, 2), {"A": Mean(0.5, 1, 2)}, {}, {"a": 0.5, "b": None})
    parts = dataclasses.asdict(result)
    assert parts["overall"].n_total == 2
    assert parts["per_sample"] == {"a": 0.5, "b": None}


@pytest.mark.parametrize(
    "name",
    ["answer_status", "evidence_status", "from_cache", "repeat", "rule_logic", "query", "rules_decided_by"],
)
def test_null_is_not_given_where_there_is_a_default(name: str) -> None:
    plain = EvalRecord(sample_id="a")
    told = EvalRecord.model_validate({"sample_id": "a", name: None})
    assert getattr(told, name) == getattr(plain, name)
    assert name not in told.model_fields_set


def test_null_within_a_field_is_not_given_either() -> None:
    told = EvalRecord.model_validate(
        {
            "sample_id": "a",
            "query": None,
            "question": "能退吗",
            "dialog": [{"reply": None, "status": None}],
            "rules": [{"type": "keyword_match", "weight": None}],
        }
    )
    assert (told.query, told.dialog[0].reply, told.dialog[0].status) == ("能退吗", "", "ok")
    assert told.rules[0].weight == 1.0


def test_null_is_refused_where_something_is_required() -> None:
    with pytest.raises(ValidationError):
        EvalRecord.model_validate({"sample_id": None})
