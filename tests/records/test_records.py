"""A run by row and by column: both say the same, wherever the run came from."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord, Observation, SlotSpec, Usage
from evalkit.errors import BadData, NoInput
from evalkit.reading import encode
from evalkit.records import Records, load

Write = Callable[..., Path]


@pytest.fixture
def run(tmp_path: Path) -> Write:
    """A function that writes lines to a file of a run and names it."""

    def write(*rows: dict[str, Any] | bytes, end: bytes = b"\n") -> Path:
        raw = [
            row if isinstance(row, bytes) else json.dumps(row, ensure_ascii=False).encode() for row in rows
        ]
        path = tmp_path / "run.jsonl"
        path.write_bytes(b"\n".join(raw) + end)
        return path

    return write


def record(**fields: Any) -> EvalRecord:
    return EvalRecord.model_validate({"sample_id": "a"} | fields)


def test_records_come_from_lists_paths_frames_and_records(run: Write) -> None:
    rows = [
        record(sample_id="a", response="x", intent_pred="S1"),
        record(sample_id="b", response="y", intent_pred="S2"),
    ]
    path = run(*[encode(row).strip() for row in rows])
    frame = pd.DataFrame({"sample_id": ["a", "b"], "response": ["x", "y"], "intent_pred": ["S1", "S2"]})
    table = Records.of(rows)
    for source in (path, str(path), frame):
        assert [row.model_dump() for row in Records.of(source)] == [row.model_dump() for row in table]
    assert Records.of(table) is table
    assert list(table) == rows
    assert table[1] is rows[1]
    assert table[-1:] == rows[-1:]
    assert len(table) == 2
    assert table.keys == ("a", "b")


def test_a_list_is_not_watched_for_changes() -> None:
    rows = [record()]
    table = Records.of(rows)
    rows.clear()
    assert len(table) == 1


def test_no_records_are_a_table_too() -> None:
    table = Records.of([])
    codes, others = table.codes("intent_l2", "intent_pred")
    (lists,) = table.lists("retrieved_doc_ids")
    groups = table.groups("intent_l2")
    assert codes.shape == others.shape == table.numbers("ttft_ms").shape == (0,)
    assert (lists.offsets.tolist(), lists.codes.size, lists.missing.size) == ([0], 0, 0)
    assert (groups.labels, groups.rows.size, groups.codes.size) == ((), 0, 0)


LABELS = st.none() | st.sampled_from(["", "S1", "S2", "Ｓ１", "S1\u200b", "s1"])
LISTS = st.none() | st.lists(st.sampled_from(["d1", "d2", "D1"]), max_size=4)
ROWS = st.lists(
    st.builds(
        lambda gold, pred, every, docs, tags: record(
            intent_l2=gold, intent_pred=pred, intent_pred_all=every, retrieved_doc_ids=docs, tags=tags
        ),
        LABELS,
        LABELS,
        st.lists(LABELS, max_size=3),
        LISTS,
        st.lists(st.sampled_from(["", "x", "y"]), max_size=3),
    ),
    max_size=12,
)


@given(ROWS)
def test_codes_are_equal_where_texts_are_exactly_equal(rows: list[EvalRecord]) -> None:
    table = Records.of(rows)
    gold, pred = table.codes("intent_l2", "intent_pred")
    for row, mine, theirs in zip(rows, gold, pred, strict=True):
        assert (mine >= 0) == bool(row.intent_l2)
        assert (mine == theirs) == ((row.intent_l2 or None) == (row.intent_pred or None))
        if mine >= 0:
            assert table.vocabulary[mine] == row.intent_l2
    for label in ("S1", "Ｓ１", "never"):
        assert table.equals("intent_l2", label).tolist() == [row.intent_l2 == label for row in rows]
    assert not table.equals("intent_l2", "").any()


@given(ROWS)
def test_lists_are_cut_out_by_their_offsets(rows: list[EvalRecord]) -> None:
    table = Records.of(rows)
    docs, intents = table.lists("retrieved_doc_ids", "intent_pred_all")
    for index, row in enumerate(rows):
        cut = docs.codes[docs.offsets[index] : docs.offsets[index + 1]]
        assert docs.missing[index] == (row.retrieved_doc_ids is None)
        assert tuple(table.vocabulary[code] for code in cut) == (row.retrieved_doc_ids or ())
        cut = intents.codes[intents.offsets[index] : intents.offsets[index + 1]]
        assert [code < 0 for code in cut] == [not intent for intent in row.intent_pred_all]


@given(ROWS)
def test_ranked_items_are_distinct_and_numbered_from_one(rows: list[EvalRecord]) -> None:
    table = Records.of(rows)
    docs, intents = table.lists("retrieved_doc_ids", "intent_pred_all")
    for lists, name in ((docs, "retrieved_doc_ids"), (intents, "intent_pred_all")):
        ranked = lists.ranked()
        found = [
            (int(row), table.vocabulary[code], int(rank))
            for row, code, rank in zip(ranked.rows, ranked.codes, ranked.ranks, strict=True)
        ]
        assert found == [
            (place, text, rank)
            for place, row in enumerate(rows)
            for rank, text in enumerate(dict.fromkeys(filter(None, getattr(row, name) or ())), start=1)
        ]


@given(ROWS)
def test_groups_hold_each_row_once_under_each_of_its_labels(rows: list[EvalRecord]) -> None:
    groups = Records.of(rows).groups("tags")
    pairs = [(int(row), groups.labels[code]) for row, code in zip(groups.rows, groups.codes, strict=True)]
    assert sorted(pairs) == sorted(
        {(place, tag) for place, row in enumerate(rows) for tag in row.tags if tag}
    )
    assert list(groups.labels) == sorted({tag for row in rows for tag in row.tags if tag})


def test_labels_are_sorted_by_code_point_and_nothing_is_no_label() -> None:
    rows = [record(intent_l2=label) for label in ("S2", None, "S10", "", "闲聊", "S2")]
    groups = Records.of(rows).groups("intent_l2")
    assert groups.labels == ("S10", "S2", "闲聊")
    assert groups.rows.tolist() == [0, 2, 4, 5]
    assert groups.codes.tolist() == [1, 0, 2, 1]


def test_flags_and_numbers_are_labels_too() -> None:
    rows = [record(requires_rag=flag, repeat=n) for n, flag in enumerate([True, False, None])]
    assert Records.of(rows).groups("requires_rag").labels == ("False", "True")
    assert Records.of(rows).groups("repeat").labels == ("0", "1", "2")


def test_null_is_nan_among_numbers_and_true_is_one() -> None:
    table = Records.of([record(ttft_ms=12.5, requires_rag=True), record(ttft_ms=None, requires_rag=None)])
    assert np.array_equal(table.numbers("ttft_ms"), [12.5, np.nan], equal_nan=True)
    assert np.array_equal(table.numbers("requires_rag"), [1.0, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("usage.total_tokens", 7),
        ("usage.new.deep", 1),
        ("trace_ids.conversation", "c1"),
        ("channel", "app"),
        ("meta.city", "上海"),
        ("copy", "mine"),
        ("json", None),
        ("model_dump", None),
        ("meta.items", None),
        ("nowhere", None),
        ("nowhere.deeper", None),
        ("key", "a#1"),
    ],
)
def test_a_column_may_lie_deep_or_be_unknown_to_the_model(name: str, value: object) -> None:
    row = record(
        repeat=1,
        usage={"total_tokens": 7, "new": {"deep": 1}},
        trace_ids={"conversation": "c1"},
        channel="app",
        meta={"city": "上海"},
        copy="mine",
    )
    assert Records.of([row, record()]).column(name)[0] == value


def test_a_column_of_nested_models_gives_the_models() -> None:
    usage = Usage(total_tokens=1)
    assert Records.of([record(usage=usage)]).column("usage") == [usage]


def test_nobody_can_write_to_a_shared_column() -> None:
    table = Records.of([record(intent_l2="S1")])
    (codes,) = table.codes("intent_l2")
    with pytest.raises(ValueError, match="read-only"):
        codes[0] = 5
    with pytest.raises(ValueError, match="read-only"):
        table.groups("intent_l2").rows[0] = 5
    assert table.codes("intent_l2")[0] is codes
    assert table.groups("intent_l2") is table.groups("intent_l2")


def test_a_torn_last_line_is_left_out_and_counted(run: Write) -> None:
    table = load(run({"sample_id": "a", "response": "x"}, b'{"sample_id":"b","resp', end=b""))
    assert (table.keys, table.torn) == (("a",), 1)


def test_every_bad_line_of_a_run_is_named(run: Write) -> None:
    path = run({"sample_id": "a"}, b"{bad", {"sample_id": "b", "ttft_ms": -1}, b"[]")
    with pytest.raises(BadData) as error:
        load(path)
    assert [fault.line for fault in error.value.faults] == [2, 3, 4]


@pytest.mark.parametrize("raw", [b"", b"\n\n", b'{"sample_id":"b'], ids=["empty", "blank", "torn only"])
def test_a_run_without_records_is_no_input(run: Write, raw: bytes) -> None:
    with pytest.raises(NoInput, match="found no record"):
        load(run(raw, end=b""))


def test_a_run_that_is_missing_is_no_input(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        Records.of(tmp_path / "gone.jsonl")


@pytest.mark.parametrize(
    ("statuses", "kept"),
    [
        (["ok", "ok"], 1),
        (["ok", "error"], 0),
        (["error", "ok"], 1),
        (["error", "rejected"], 1),
        (["error", "ok", "error", "ok", "incomplete"], 3),
        (["ok"], 0),
    ],
    ids=str,
)
def test_the_newest_good_line_of_a_sample_is_kept(run: Write, statuses: list[str], kept: int) -> None:
    """A resumed run tries again what failed, and appends."""
    lines = [{"sample_id": "a", "answer_status": s, "response": f"{n}"} for n, s in enumerate(statuses)]
    table = load(run({"sample_id": "first"}, *lines, {"sample_id": "a", "repeat": 1}))
    assert table.keys == ("first", "a", "a#1")
    assert table[1].response == f"{kept}"
    assert table.superseded == len(statuses) - 1


@pytest.mark.parametrize(
    ("line", "answer", "evidence"),
    [
        ({}, "skipped", "skipped"),
        ({"intent_l2": "S1", "reference": "x"}, "skipped", "skipped"),
        ({"response": ""}, "ok", "skipped"),
        ({"response": None}, "ok", "skipped"),
        ({"total_ms": 3}, "ok", "skipped"),
        ({"tool_calls": []}, "ok", "skipped"),
        ({"intent_pred": None}, "skipped", "ok"),
        ({"intent_pred_all": []}, "skipped", "ok"),
        ({"retrieved_doc_ids": []}, "skipped", "ok"),
        ({"retrieved_doc_ids_raw": ["d"]}, "skipped", "ok"),
        ({"retrieved_contexts": ["x"]}, "skipped", "ok"),
        ({"answer_status": "error"}, "error", "skipped"),
        ({"evidence_status": "error", "response": "x"}, "ok", "error"),
        ({"flags": [], "from_cache": True, "trace_ids": {}, "new": 1}, "skipped", "skipped"),
    ],
    ids=str,
)
def test_a_channel_that_a_foreign_line_never_mentions_was_not_asked(
    run: Write, line: dict[str, Any], answer: str, evidence: str
) -> None:
    row = load(run({"sample_id": "a"} | line))[0]
    assert (row.answer_status, row.evidence_status) == (answer, evidence)


def test_what_evalkit_writes_itself_is_not_guessed_at(run: Write) -> None:
    """A written line mentions every field, so its statuses stand as they are."""
    row = record(answer_status="cancelled")
    assert load(run(encode(row).strip()))[0] == row


def test_every_field_of_an_observation_belongs_to_a_channel_or_to_none() -> None:
    neither = {"trace_ids", "from_cache", "flags"}
    given = {"answer_status": "ok", "evidence_status": "ok"}
    for name in set(Observation.model_fields) - neither:
        value = given.get(name, EvalRecord.model_fields[name].get_default(call_default_factory=True))
        (row,) = Records.of(pd.DataFrame([{"sample_id": "a", name: value}]))
        assert [row.answer_status, row.evidence_status].count("skipped") == 1, name


def test_a_frame_may_hold_nulls_arrays_and_numbers_for_ids() -> None:
    frame = pd.DataFrame(
        {
            "query_id": [1, 2],
            "intent_pred": ["S1", None],
            "intent_pred_all": [np.array([None, "S1"], dtype=object), None],
            "retrieved_doc_ids": [np.array(["d1", "d2"], dtype=object), None],
            "ttft_ms": [12.5, float("nan")],
            "asked_at": [pd.Timestamp("2026-01-02"), pd.NaT],
            "requires_rag": pd.array([True, pd.NA], dtype="boolean"),
            "channel": ["app", "web"],
        }
    )
    first, second = Records.of(frame)
    assert (first.sample_id, first.retrieved_doc_ids, first.ttft_ms) == ("1", ("d1", "d2"), 12.5)
    assert (first.requires_rag, first.model_extra) == (True, {"channel": "app"})
    assert (second.intent_pred, second.retrieved_doc_ids, second.ttft_ms) == (None, None, None)
    assert (second.requires_rag, second.asked_at, second.intent_pred_all) == (None, None, ())
    assert [first.answer_status, first.evidence_status] == ["ok", "ok"]


def test_a_frame_without_a_column_of_a_channel_never_asked_it() -> None:
    """A null among the predictions is an abstention all the same: the column is there."""
    rows = Records.of(pd.DataFrame({"sample_id": ["a", "b"], "intent_pred": ["S1", None]}))
    assert [row.answer_status for row in rows] == ["skipped", "skipped"]
    assert [row.evidence_status for row in rows] == ["ok", "ok"]


def test_lists_survive_the_way_through_parquet() -> None:
    buffer = io.BytesIO()
    pd.DataFrame({"sample_id": ["a"], "retrieved_doc_ids": [["d1", "d2"]]}).to_parquet(buffer)
    (row,) = Records.of(pd.read_parquet(buffer))
    assert row.retrieved_doc_ids == ("d1", "d2")


def test_every_bad_row_of_a_frame_is_named() -> None:
    with pytest.raises(BadData) as error:
        Records.of(pd.DataFrame({"sample_id": ["a", "b", 1.5], "repeat": [0, -1, 0]}))
    assert [str(fault) for fault in error.value.faults] == [
        "data frame:2: repeat: found -1, wanted greater than or equal to 0",
        "data frame:3: sample_id: found 1.5, wanted a valid string",
    ]


def test_specs_within_a_case_are_columns_of_models() -> None:
    row = record(required_slots=[{"name": "phone"}])
    assert Records.of([row]).column("required_slots") == [(SlotSpec(name="phone"),)]


def test_a_repeat_and_an_id_that_looks_like_one_are_two_samples(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"sample_id": "a", "repeat": 1}\n{"sample_id": "a#1"}\n{"sample_id": "a#1#0"}\n', encoding="utf-8"
    )
    records = Records.of(path)
    assert [(row.sample_id, row.repeat) for row in records] == [("a", 1), ("a#1", 0), ("a#1#0", 0)]
    assert records.keys == ("a#1", "a#1#0", "a#1#0#0")
    assert records.superseded == 0


@given(
    first=st.tuples(st.text("a#01", min_size=1), st.integers(0, 11)),
    second=st.tuples(st.text("a#01", min_size=1), st.integers(0, 11)),
)
def test_two_samples_have_two_keys(first: tuple[str, int], second: tuple[str, int]) -> None:
    keys = {EvalRecord(sample_id=name, repeat=n).key for name, n in (first, second)}
    assert len(keys) == len({first, second})
