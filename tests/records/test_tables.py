"""Tables by columns: what is told of whole columns is what the models make of each row, and so is what is refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel

from evalkit.contracts import EvalRecord, asked
from evalkit.errors import BadData, Fault
from evalkit.reading import Reading
from evalkit.reading.columnar import parts_of
from evalkit.reading.files import take_rows
from evalkit.records import Records
from evalkit.records.annotations import bare, bounds, fields_by_key, is_any
from evalkit.records.fields import CALLS, COLUMNS, GIVEN, SIZED, of_rows
from evalkit.records.sources import Table
from evalkit.records.tables import vouched

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(
    ["S1", "", "a\\b", "ok", "error", "all", "skipped", "退货", "\U0001f600", "x" * 256, "退" * 257]
)
NUMBERS = st.floats(0, 1e6) | st.sampled_from([-1.0, 0.5, 1.5, 1e22, float("nan"), float("inf")])
WHOLE = st.integers(-2, 9) | st.sampled_from([2**53, 2**53 + 1, 2**60])
MOMENTS = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31))  # noqa: DTZ001 - some have none
CALL = st.fixed_dictionaries(
    {"name": TEXTS},
    optional={
        "arguments": st.fixed_dictionaries({}, optional={"x": TEXTS, "y": NUMBERS}),
        "latency_ms": NUMBERS,
    },
)
DIALOG_TURN: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"reply": TEXTS}, optional={"tool_calls": st.none() | st.lists(st.none() | CALL, max_size=3)}
)
USAGE = st.fixed_dictionaries({}, optional={"prompt_tokens": WHOLE, "total_tokens": WHOLE, "own": TEXTS})
ERROR = st.fixed_dictionaries({}, optional={"kind": TEXTS, "http_status": WHOLE})
ATTEMPT = st.fixed_dictionaries({"status": TEXTS}, optional={"total_ms": NUMBERS, "error": ERROR})
JUDGED = st.fixed_dictionaries({}, optional={"good": st.fixed_dictionaries({"score": NUMBERS})})


TURN = [{"reply": "a"}, {"reply": "b", "tool_calls": [{"name": "z", "arguments": {"x": "1"}}]}]


def lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(st.none() | items, max_size=3) | st.lists(items, max_size=3)


TEXT_TYPES = [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.string_view()]
LIST_TYPES = [
    pa.list_(pa.string()),
    pa.large_list(pa.large_string()),
    pa.list_(pa.dictionary(pa.int8(), pa.string())),
]
NUMBER_TYPES = [pa.float64(), pa.float32(), pa.float16()]
WHOLE_TYPES: list[pa.DataType | None] = [pa.int64(), pa.int8(), pa.uint64(), pa.float64()]
MOMENT_TYPES = [pa.timestamp(unit, zone) for unit in ("s", "us", "ns") for zone in (None, "UTC")]
KINDS: list[tuple[st.SearchStrategy[Any], Sequence[pa.DataType | None]]] = [
    (TEXTS, TEXT_TYPES),
    (st.sampled_from(["ok", "error", "skipped"]), TEXT_TYPES),
    (lists(TEXTS), LIST_TYPES),
    (lists(TEXTS.filter(bool)), LIST_TYPES),
    (st.lists(TEXTS, min_size=2, max_size=2), [pa.list_(pa.string(), 2)]),
    (lists(WHOLE), [None, pa.list_(pa.int64())]),
    (NUMBERS, NUMBER_TYPES),
    (WHOLE, WHOLE_TYPES),
    (st.booleans(), [pa.bool_()]),
    (MOMENTS, MOMENT_TYPES),
    (st.integers(), [pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.timestamp("s", "Asia/Shanghai")]),
    (lists(CALL), [None]),
    (lists(ATTEMPT), [None]),
    (USAGE | ERROR, [None]),
    (JUDGED, [None]),
    (st.lists(st.tuples(TEXTS, TEXTS), max_size=2), [pa.map_(pa.string(), pa.string())]),
    (st.binary(max_size=3), [pa.binary()]),
    (lists(DIALOG_TURN), [None]),
    (st.none(), [pa.null(), pa.string(), pa.list_(pa.string())]),
]
"""What a column may hold, and as which types; a cell that a type does not take is null in it."""

LIKELY = {
    "query": 0,
    "intent_l1": 0,
    "intent_pred": 0,
    "rule_logic": 0,
    "evidence_source": 0,
    "ground_truth": 0,
    "answer_status": 1,
    "evidence_status": 1,
    "tags": 2,
    "intent_pred_all": 2,
    "sub_questions": 2,
    "retrieved_contexts": 2,
    "messages": 2,
    "reference_doc_ids": 3,
    "retrieved_doc_ids": 3,
    "retrieved_doc_ids_raw": 3,
    "retrieved_chunk_ids": 3,
    "ttft_ms": 6,
    "rule_pass_threshold": 6,
    "repeat": 7,
    "expected_turns": 7,
    "requires_rag": 8,
    "from_cache": 8,
    "rules_passed": 8,
    "asked_at": 9,
    "started_at": 9,
    "dialog": 17,
    "dialog#": 7,
    "usage.completion_tokens": 7,
    "calls_made()": 11,
    "expected_tools": 11,
    "tool_calls": 11,
    "answer_attempts": 12,
    "usage": 13,
    "answer_error": 13,
    "judgements": 14,
    "trace_ids": 15,
    "own": 16,
    "copy": 0,
}
"""Columns of a table, and what is most likely in them."""


@st.composite
def columns(draw: st.DrawFn, name: str, n: int) -> Any:
    place = draw(st.just(LIKELY[name]) | st.integers(0, len(KINDS) - 1))
    values, types = KINDS[place]
    cells = draw(
        st.lists(st.none() | values, min_size=n, max_size=n) | st.lists(values, min_size=n, max_size=n)
    )
    return array(cells, draw(st.sampled_from(types)))


def array(cells: Sequence[Any], kind: pa.DataType | None) -> Any:
    """The cells in that type, null where it does not take one."""

    def taken(cell: Any) -> bool:
        try:
            pa.array([cell], kind)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return False
        return True

    return pa.array([cell if taken(cell) else None for cell in cells], kind)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    n = draw(st.integers(0, 6))
    names = draw(st.lists(st.sampled_from(sorted(LIKELY)), max_size=7, unique=True))
    ids = st.sampled_from(["a", "退货", "#1"]) | TEXTS | st.none()
    found = {name: draw(columns(name, n)) for name in names}
    key = draw(st.sampled_from(["sample_id", "id"]))
    numbers = draw(st.booleans())
    found[key] = (
        pa.array(range(n))
        if numbers
        else array(draw(st.lists(ids, min_size=n, max_size=n)), draw(st.sampled_from(TEXT_TYPES)))
    )
    cut = draw(st.integers(0, n))
    whole = pa.table(found)
    return pa.concat_tables([whole.slice(0, cut), whole.slice(cut)])


def by_row(table: pa.Table, *, rejecting: bool = False) -> tuple[list[EvalRecord], Reading[EvalRecord]]:
    """The records of a table, and what else is told of it, by the models alone."""
    reading = Reading[EvalRecord]()
    try:
        take_rows(reading, "table", parts_of("table", table), EvalRecord, rejecting=rejecting)
    except BadData as end:
        reading.end(end.faults)
    return [asked(row, row.model_fields_set | set(table.schema.names)) for row in reading.items], reading


def faults_of(table: pa.Table) -> list[Fault]:
    try:
        Records.of(table)
    except BadData as error:
        return list(error.faults)
    return []


CALLED = {"name": "f", "arguments": {"x": 1, "y": None, "z": [{"b": "退货", "a": True}]}}


def examples(function: Any) -> Any:
    """The same test over tables that chance seldom finds."""
    calls: list[dict[str, Any]] = [{"name": "a", "arguments": {"x": 1.0, "y": None}}, {"name": "b"}]
    late = pa.array([2**50, None, 0], pa.timestamp("s"))
    found: list[dict[str, Any]] = [
        {"asked_at": late, "started_at": late.cast(pa.timestamp("s", "UTC"))},
        {"asked_at": pa.array([-(2**63), -(2**63) + 1, 0], pa.timestamp("ns"))},
        {"retrieved_doc_ids": [["a"], None, []], "retrieved_doc_ids_raw": [["b"], ["c"], None]},
        {"own": [1.5, float("nan"), float("inf")]},
        {"own": [[1.5], [float("nan")], None], "tags": [["x"], [], None]},
        {"own": [{"a": [1.5]}, {"a": [float("-inf")]}, None]},
        {"judgements": [{"x": {"score": 0.5}, "y": None}, {"x": None, "y": None}, {"x": {"score": 2.0}}]},
        {"judgements": pa.array([{}, None, {}], pa.struct([]))},
        {"trace_ids": [{"c": 1}, {"c": None}, {"c": 2}]},
        {"filled_slots": [{"a": [{"b": 1.5}]}, {"a": []}, {"a": [{"b": None}]}]},
        {"answer_attempts": [[{"status": "ok"}, {"status": "ok"}], [{"status": None}], []]},
        {"intent_pred": ["", None, 7 * "x"], "intent_pred_all": [[None, "", "a"], [], ["b"]]},
        {"intent_pred": ["", "", None], "intent_pred_all": [[], [""], [None]]},
        {"intent_pred_all": [["", "a"], None, [""]]},
        {"query": [1, None, 2], "tags": [["x"], [], ["y"]]},
        {"tags": [[1], [], None], "retrieved_doc_ids": [[1], [], [2, 3]]},
        {"ttft_ms": pa.array([2**53 + 1, 1, 0])},
        {"usage": [{"prompt_tokens": 1}, {"prompt_tokens": -1}, {"prompt_tokens": None}]},
        {"tool_calls": [[CALLED], [], None], "expected_tools": [None, [CALLED, CALLED], []]},
        {"tool_calls": [[{"tool": "f", "args": {"x": 1.0}}], [{"tool": ""}], [{"tool": "f", "args": None}]]},
        {"tool_calls": [None, [], [CALLED]], "dialog": [[{"tool_calls": [CALLED]}, {"tool_calls": []}]] * 3},
        {"dialog": [[{"reply": "a", "tool_calls": [CALLED]}], [{"reply": "b", "tool_calls": None}], []]},
        {"dialog": [[{"reply": "a", "tool_calls": []}], None, []]},
        {"tool_calls": [calls, [], None]},
        {"expected_tools": [[{"tool": "a", "args": {"x": [True, None]}}], None, [{"tool": None}]]},
        {"tool_calls": [[{"name": "a"}], [None], None], "dialog": [TURN, TURN, TURN]},
        {"dialog": [TURN, [{"reply": "a", "tool_calls": []}], None]},
        {"usage.completion_tokens": [1, 2, 3], "dialog#": [4, 5, None], "answer_attempts#": [1, 1, 1]},
        {"calls_made()": pa.array([None] * 3, pa.struct([("a", pa.string())])), "dialog#": [["a"], None, []]},
    ]
    for columns_ in found:
        function = example(pa.table({"sample_id": ["a", "b", "c"], **columns_}))(function)
    return example(pa.table({"tags": [["a"]]}))(example(pa.table({}))(function))


@examples
@given(tables())
def test_the_columns_of_a_table_are_those_of_its_rows(table: pa.Table) -> None:
    """What is not refused, what is, and why: all as by the models alone."""
    reading = Reading[EvalRecord]()
    parts = [*Table(table, "table").batches(reading, rejecting=True)]
    exact, wanted = by_row(table, rejecting=True)
    assert (reading.faults, reading.rejects, reading.whole) == (wanted.faults, wanted.rejects, wanted.whole)
    if reading.whole:
        assert [n for part in parts for n in part.places.numbers.tolist()] == wanted.numbers
        found = pa.concat_tables([*(part.columns for part in parts), of_rows([])])
        expected = of_rows(exact)
        assert found.schema == expected.schema
        for name in COLUMNS:
            assert found[name].to_pylist() == expected[name].to_pylist(), name


PLAIN = [name for name in COLUMNS if not name.endswith(("#", "()"))]
"""The columns that are called as a field."""


@examples
@given(tables())
def test_records_of_a_table_are_those_of_its_rows(table: pa.Table) -> None:
    rows, reading = by_row(table)
    assert faults_of(table) == reading.faults
    if reading.faults:
        return
    found, wanted = Records.of(table), Records(rows)
    assert list(found) == rows
    assert [row.model_dump() for row in found] == [row.model_dump() for row in rows]
    assert found.keys == wanted.keys
    theirs = [name for name in table.column_names if not name.endswith(("#", ")"))]  # as ours are called
    for name in [*PLAIN, *GIVEN, *CALLS.values(), *theirs]:
        assert found.told(name).tolist() == wanted.told(name).tolist(), name
        assert found.given(name).tolist() == wanted.given(name).tolist(), name
        assert [value or None for value in map(plain, found.column(name))] == [
            value or None for value in map(plain, wanted.column(name))
        ], name
    for name, kind in COLUMNS.items():
        if kind in (pa.string(), pa.bool_(), pa.list_(pa.string())):
            assert same_groups(found, wanted, name), name
    for name in [*SIZED, *(name for name in PLAIN if pa.types.is_list(COLUMNS[name]))]:
        assert found.sizes(name).tolist() == wanted.sizes(name).tolist(), name
    assert calls_of(found) == calls_of(wanted)


def calls_of(records: Records) -> list[list[Any]]:
    """All numbers that the columns of calls are made of."""
    columns = records.calls(*CALLS.values())
    return [part.tolist() for column in columns for lists in column for part in lists]


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def same_groups(one: Records, other: Records, name: str) -> bool:
    first, second = one.groups(name), other.groups(name)
    return (first.labels, first.rows.tolist(), first.codes.tolist()) == (
        second.labels,
        second.rows.tolist(),
        second.codes.tolist(),
    )


def in_columns(table: pa.Table) -> bool:
    """Whether no row of the table needs the models."""
    return all(vouched(batch)[1].all() for batch in table.to_batches())


def test_what_tables_commonly_hold_needs_no_second_look() -> None:
    """The types that Arrow and pandas give texts, lists, ids, numbers, flags and structs."""
    table = pa.table(
        {
            "sample_id": pa.array([1, 2], pa.int32()),
            "intent_l2": pa.array(["S1", None]).dictionary_encode(),
            "intent_pred_all": pa.array([["S1", None], None], pa.large_list(pa.large_string())),
            "retrieved_doc_ids": [[1, 2], []],
            "answer_status": ["ok", None],
            "requires_rag": [True, None],
            "ttft_ms": pa.array([1, 2], pa.uint8()),
            "total_ms": pa.array([1.5, None], pa.float32()),
            "asked_at": pa.array([1, None], pa.timestamp("ns", "UTC")),
            "tool_calls": [[{"name": "find", "arguments": {"x": 1, "y": [{"z": "a"}]}}], []],
            "answer_attempts": [[{"status": "ok", "error": None}] * 2, []],
            "usage": [{"prompt_tokens": 1, "more": "x"}, None],
            "channel": ["app", "web"],
        }
    )
    assert in_columns(table)
    assert Records.of(table).column("intent_pred") == ["S1", None]


def test_only_the_rows_that_need_it_go_through_the_models() -> None:
    table = pa.table({"sample_id": ["a", "b", "c"], "expectation": pa.array([None, "answers", None])})
    (batch,) = table.to_batches()
    assert vouched(batch)[1].tolist() == [True, False, True]
    assert Records.of(table)[1].expectation.behavior == "answers"  # type: ignore[union-attr]


def test_types_of_which_arrow_cannot_take_some_are_read_all_the_same() -> None:
    table = pa.table({"sample_id": ["a", "b"], "query": pa.array(["x", None], pa.string_view())})
    assert Records.of(table).column("query") == ["x", ""]


def test_an_integer_that_no_column_holds_is_kept_in_its_row() -> None:
    table = pa.table({"sample_id": ["a"], "repeat": pa.array([2**63], pa.uint64())})
    (row,) = Records.of(table)
    assert (row.repeat, row.answer_status) == (2**63, "skipped")
    pq_table = pa.table({"sample_id": ["a", ""], "repeat": pa.array([2**63, 0], pa.uint64())})
    with pytest.raises(BadData, match="table:2: sample_id"):
        Records.of(pq_table)


def test_an_integer_that_no_double_holds_is_the_number_of_its_row() -> None:
    for repeat in (2**53 + 1, 2**60 + 65, 2**63 - 1):
        table = pa.table({"sample_id": ["a", "b"], "repeat": [repeat, 0]})
        found, wanted = Records.of(table), Records(by_row(table)[0])
        assert in_columns(table)
        assert found.numbers("repeat").tolist() == wanted.numbers("repeat").tolist()
        assert found.keys == wanted.keys == (f"a#{repeat}", "b")


def test_a_table_whose_texts_are_damaged_is_refused() -> None:
    bad = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
    )
    with pytest.raises(BadData, match=r"table:1: file: found damaged data"):
        Records.of(pa.table({"sample_id": bad}))
    with pytest.raises(BadData, match="'sample_id' twice"):
        Records.of(pa.table([pa.array(["a"])] * 2, names=["sample_id"] * 2))


def test_many_rows_that_need_it_stand_where_they_stood() -> None:
    """More than go through the models at a time, among others that do not, in several pieces."""
    said = [None if number % 3 else f"behave {number}" for number in range(20_000)]
    whole = pa.table({"sample_id": [f"c{number}" for number in range(20_000)], "expectation": said})
    table = pa.concat_tables([whole.slice(0, 13), whole.slice(13)])
    found = Records.of(table)
    assert found.column("sample_id") == whole["sample_id"].to_pylist()
    assert found.given("expectation").tolist() == [text is not None for text in said]
    bad = table.append_column("repeat", pa.array([-(number % 7_000 == 0) for number in range(20_000)]))
    assert [fault.line for fault in faults_of(bad)] == [1, 7_001, 14_001]


def constraints(kind: Any, seen: set[Any]) -> Iterator[Any]:
    """All that is asked beside its type of a value, of its items and of its fields, but for limits."""
    plain, beside = bare(kind)
    yield from (one for one in beside if not bounds([one]))
    inner = [] if is_any(kind) else [part for part in get_args(plain) if part is not ...]
    if isinstance(plain, type) and issubclass(plain, BaseModel) and plain not in seen:
        seen.add(plain)
        inner = [part.kind for part in fields_by_key(plain).values()]
    for part in inner:
        yield from constraints(part, seen)


def test_the_models_ask_nothing_that_whole_columns_are_not_held_against() -> None:
    """A pattern, or a validator that refuses, would need a check of its own: all cells would be taken without one."""
    found = {getattr(one, "func", type(one)).__name__ for one in constraints(EvalRecord, set())}
    lifts = {"_digits", "_empty_if_null", "_no_keys_if_null", "_user_text", "_expectation"}
    assert found == {*lifts, "AllowInfNan"}
