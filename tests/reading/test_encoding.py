"""A record to its line and back: what was written can be read, and says the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Case, EvalRecord, ToolCall
from evalkit.reading import decode, encode
from evalkit.reading.decoding import MAX_LINE_BYTES
from evalkit.reading.encoding import escaped


def again(record: EvalRecord) -> EvalRecord:
    """The record, written and read."""
    line = encode(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    return EvalRecord.model_validate(decode(line.removesuffix(b"\n")))


TEXTS = st.text(max_size=12)
IDS = st.text(min_size=1, max_size=12)
MS = st.none() | st.floats(0, 1e9)
JSON: st.SearchStrategy[object] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
UNKNOWN: dict[Any, st.SearchStrategy[object]] = {"x_new": JSON, "备注": JSON}
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
CALLS = st.lists(
    st.fixed_dictionaries(
        {"name": IDS}, optional={"arguments": OBJECTS, "result": JSON, "latency_ms": MS} | UNKNOWN
    ),
    max_size=2,
)
TURNS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={"reply": TEXTS, "tool_calls": CALLS, "filled_slots": st.none() | OBJECTS, "ttft_ms": MS}
        | UNKNOWN,
    ),
    max_size=2,
)
RECORDS = st.fixed_dictionaries(
    {"sample_id": IDS},
    optional={
        "query": TEXTS,
        "messages": st.lists(TEXTS, max_size=3),
        "intent_l2": st.none() | TEXTS,
        "reference_doc_ids": st.lists(IDS, max_size=3),
        "asked_at": st.none() | st.datetimes().map(str),
        "required_slots": st.lists(
            st.fixed_dictionaries({"name": IDS}, optional={"value": JSON}), max_size=2
        ),
        "expected_tools": st.none() | CALLS,
        "rules": st.lists(st.fixed_dictionaries({"type": TEXTS}, optional={"params": OBJECTS}), max_size=2),
        "response": st.none() | TEXTS,
        "dialog": TURNS,
        "tool_calls": st.none() | CALLS,
        "intent_pred_all": st.lists(st.none() | TEXTS, max_size=3),
        "retrieved_doc_ids": st.none() | st.lists(IDS, max_size=3),
        "answer_status": st.sampled_from(["ok", "rejected", "skipped"]),
        "answer_timings": st.fixed_dictionaries({}, optional={"end_ms": MS, "events": st.integers(0, 99)}),
        "trace_ids": st.dictionaries(TEXTS, TEXTS, max_size=2),
        "repeat": st.integers(0, 99),
    }
    | UNKNOWN,
).map(EvalRecord.model_validate)


@given(RECORDS)
def test_a_record_comes_back_as_it_was(record: EvalRecord) -> None:
    assert again(record) == record


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\x1c", "\x0b", "\r", "\n", "\r\n"], ids=ascii)
def test_no_character_of_a_text_ends_the_line(char: str) -> None:
    """Readers disagree about line ends: `str.splitlines` knows eleven of them."""
    record = EvalRecord.model_validate({"sample_id": "a", "response": f"甲{char}乙", f"k{char}": char})
    assert again(record) == record
    assert len(encode(record).decode().splitlines()) == 1


@pytest.mark.parametrize("text", ["\ud83d", "甲\udc00乙", "\\\ud83d", "\ud83d" * 3], ids=ascii)
def test_a_lone_surrogate_is_escaped_and_comes_back(text: str) -> None:
    calls = (ToolCall(name="t", arguments={text: text}),)
    record = EvalRecord.model_validate(
        {"sample_id": "a", "response": text, "tool_calls": calls, "new": {text: 1}}
    )
    assert again(record) == record
    assert b"\\ud83d" in encode(record) or b"\\udc00" in encode(record)


def test_chinese_is_written_as_it_is_read() -> None:
    assert "买了两周的耳机能退吗".encode() in encode(Case(sample_id="a", query="买了两周的耳机能退吗"))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("-inf")]], ids=repr)
def test_a_number_that_is_not_finite_is_written_as_null(value: object) -> None:
    """Known fields refuse it; among unknown fields it was not measured."""
    record = EvalRecord.model_validate({"sample_id": "a", "response": "NaN Infinity", "unknown": value})
    back = again(record)
    assert back.response == "NaN Infinity"
    assert back.model_extra == {"unknown": [None] if isinstance(value, list) else None}


def test_what_is_no_json_is_refused() -> None:
    record = EvalRecord.model_validate({"sample_id": "a", "unknown": object()})
    with pytest.raises(ValueError, match="serialize"):
        encode(record)


def test_times_are_written_in_iso_8601() -> None:
    record = EvalRecord.model_validate({"sample_id": "a", "started_at": "2026-01-02T03:04:05Z"})
    assert b'"started_at": "2026-01-02T03:04:05Z"' in encode(record)


@pytest.mark.parametrize(
    "number", [2**53, -(2**53), 10**22, 2**53 - 1, 1 - 2**53, True, 0.1234567890123456789]
)
def test_what_a_tool_gave_back_can_be_read_whatever_number_it_is(number: int) -> None:
    """An order number of 20 digits in a tool's result must not make a whole run unreadable."""
    back = again(EvalRecord(sample_id="a", tool_calls=(ToolCall(name="t", result={"id": number}),)))
    assert back.tool_calls is not None
    small = isinstance(number, float) or abs(number) < 2**53
    assert back.tool_calls[0].result == {"id": number if small else str(number)}


def _deep(levels: int) -> Any:
    value: Any = "核"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [59, 60, 61, 62, 70, 200])
def test_what_a_tool_gave_back_can_be_read_however_deep_it_is(levels: int) -> None:
    """A result stands three levels below the record: 64 are allowed in all."""
    back = again(EvalRecord(sample_id="a", tool_calls=(ToolCall(name="t", result=_deep(levels)),)))
    assert back.tool_calls is not None
    value = back.tool_calls[0].result
    for _ in range(min(levels, 61)):
        assert isinstance(value, list)
        (value,) = value
    if levels > 61:
        assert isinstance(value, str)
        assert json.loads(value) == _deep(levels - 61)
    else:
        assert value == "核"


def test_a_deep_object_becomes_text_as_a_deep_list_does() -> None:
    deep: Any = {}
    for _ in range(70):
        deep = {"k": deep}
    back = again(
        EvalRecord.model_validate({"sample_id": "a", "unknown": deep, "number": 2**60, "list": [1, None]})
    )
    assert back.model_extra is not None
    assert back.model_extra["number"] == str(2**60)
    assert back.model_extra["list"] == [1, None]


def test_the_text_of_a_deep_value_is_json_that_can_be_read_too() -> None:
    deep: Any = {"id": 10**20, "score": float("nan")}
    for _ in range(70):
        deep = [deep]
    back = again(EvalRecord.model_validate({"sample_id": "a", "unknown": deep}))
    value: Any = (back.model_extra or {})["unknown"]
    while isinstance(value, list):
        (value,) = value
    value = decode(b'{"inner":' + value.encode() + b"}")["inner"]
    while isinstance(value, list):
        (value,) = value
    assert value == {"id": "1" + "0" * 20, "score": None}


def test_a_line_too_long_to_be_read_is_not_written() -> None:
    room = MAX_LINE_BYTES - len(encode(Case(sample_id="a", query=""))) + 1
    assert len(encode(Case(sample_id="a", query="x" * room))) == MAX_LINE_BYTES + 1
    with pytest.raises(ValueError, match=r"found a line of 16,777,217 bytes, wanted at most 16,777,216"):
        encode(Case(sample_id="a", query="x" * (room + 1)))


@pytest.mark.parametrize("char", ["\u2028", "\u2029", *map(chr, range(0x7F, 0xA0))], ids=ascii)
def test_escaped_json_holds_no_line_separator_and_no_c1_control(char: str) -> None:
    text = json.dumps({"键" + char: "退货" + char}, ensure_ascii=False)
    raw = escaped(text)
    assert char not in raw.decode("utf-8")
    assert "退货" in raw.decode("utf-8")
    assert json.loads(raw) == json.loads(text)
