"""Data frames by columns: only where that is what their rows say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData
from evalkit.records import Records, frames
from evalkit.records.frames import from_frame

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
NUMBERS = st.floats(0, 1e6) | st.sampled_from([-1.0, float("nan"), float("inf")])


def cells(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A column of three."""
    return st.lists(values, min_size=3, max_size=3)


def lists(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3)


CALLS = st.fixed_dictionaries(
    {"name": st.just("x")},
    optional={
        "arguments": st.dictionaries(st.sampled_from("ab"), st.none() | TEXTS | st.lists(st.none() | TEXTS))
    },
)
FRAMES = st.fixed_dictionaries(
    {"sample_id": cells(st.sampled_from(["a", "b", 7]))},
    optional={
        "query": cells(st.none() | TEXTS),
        "tags": cells(st.none() | lists(TEXTS) | st.tuples(TEXTS)),
        "retrieved_doc_ids": st.lists(
            st.none() | lists(TEXTS | st.just(float("nan"))), min_size=3, max_size=3
        ),
        "reference_doc_ids": cells(lists(TEXTS.filter(bool)).map(np.array)),
        "ttft_ms": cells(st.none() | NUMBERS),
        "requires_rag": cells(st.none() | st.booleans()),
        "repeat": cells(st.integers(-1, 9)),
        "asked_at": cells(st.none() | st.datetimes()),
        "own": cells(st.none() | TEXTS | NUMBERS | st.booleans() | lists(NUMBERS)),
        "flags": st.just([["a"], ["b"], ["c"]]),
        "tool_calls": cells(st.none() | lists(CALLS)),
    },
)


@given(FRAMES)
def test_a_frame_by_columns_is_the_frame_by_row(columns: dict[str, list[Any]]) -> None:
    frame = pd.DataFrame({name: pd.Series(column) for name, column in columns.items()})
    wanted = list(frames._by_row(frame))
    faults = [fault for item in wanted if isinstance(item, list) for fault in item]
    if faults:
        with pytest.raises(BadData) as error:
            Records.of(frame)
        assert list(error.value.faults) == faults
        return
    found = Records.of(frame)
    assert list(found) == wanted
    rows = Records([row for row in wanted if isinstance(row, EvalRecord)])
    for name in ("query", "tags", "retrieved_doc_ids", "reference_doc_ids", "asked_at", "tool_calls", "own"):
        assert found.given(name).tolist() == rows.given(name).tolist()
        assert found.told(name).tolist() == rows.told(name).tolist()
    assert [part.tolist() for lists in found.calls("calls_made")[0] for part in lists] == [
        part.tolist() for lists in rows.calls("calls_made")[0] for part in lists
    ]
    for name in ("query", "tags", "requires_rag"):
        assert found.groups(name).labels == rows.groups(name).labels


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("query", ["x", None, float("nan")]),
        ("query", pd.Series(["x", "y", "x"], dtype="category")),
        ("requires_rag", pd.array([True, pd.NA, False], dtype="boolean")),
        ("requires_rag", [True, None, False]),
        ("ttft_ms", [1.5, float("nan"), 2]),
        ("asked_at", pd.to_datetime(["2026-01-02", None, "2026-01-03"], utc=True)),
        ("tags", [["x"], np.array(["y"], dtype=object), None]),
        (
            "tool_calls",
            [[{"name": "x", "arguments": {"a": 1}}, {"name": "y", "arguments": {"b": "z"}}], [], None],
        ),
        ("usage.x", [1, 2, 3]),
    ],
    ids=str,
)
def test_plain_frames_are_read_by_columns(name: str, column: Any) -> None:
    frame = pd.DataFrame({"sample_id": ["a", "b", "c"], name: column})
    assert not isinstance(from_frame(frame).rows, list)


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("own", ["x", 1, None]),
        ("own", [{"a": 1}, {"b": 2}, None]),
        ("own", [b"x", "y", None]),
        ("own", [["x"], [b"y"], None]),
        ("own", [[{"a": [{"b": None}]}], [], None]),
        ("tool_calls", [[{"name": "x", "arguments": {"a": None}}], [], None]),
        ("own", [float("inf"), 1.0, 2.0]),
        ("tags", [{"x"}, ["y"], None]),
        ("repeat", [1.0, 2.0, None]),
    ],
    ids=str,
)
def test_frames_of_which_arrow_would_make_something_else_are_read_by_row(name: Any, column: Any) -> None:
    """Or would not say the same of: what cannot be told for the frame as a whole is judged by the models."""
    frame = pd.DataFrame({"sample_id": ["a", "b", "c"], name: column})
    assert isinstance(from_frame(frame).rows, list)


def test_a_frame_is_not_watched_for_changes() -> None:
    frame = pd.DataFrame({"sample_id": ["a"], "tags": [["x"]], "ttft_ms": [1.0]})
    found = Records.of(frame)
    frame.loc[0, "ttft_ms"] = -1.0
    frame["tags"][0].append("y")
    frame["sample_id"] = "b"
    assert (found[0].sample_id, found[0].tags, found[0].ttft_ms, found.column("ttft_ms")) == (
        "a",
        ("x",),
        1.0,
        [1.0],
    )


@pytest.mark.parametrize(
    "cell",
    [{("a", "b"): 1}, 10**5_000],
    ids=["key", "large"],
)
def test_a_cell_that_cannot_be_written_is_refused_with_words(cell: object) -> None:
    """A key that is a pair, a number of too many digits."""
    frame = pd.DataFrame({"sample_id": ["a"], "response": pd.Series([cell])})
    with pytest.raises(BadData, match=r"data frame:1: response: found a value of type \w+, wanted"):
        Records.of(frame)


def test_a_frame_out_of_parquet_says_what_the_table_says() -> None:
    """Lists come back as arrays at any depth, and structs with null for what was left out: nothing was given."""
    table = pa.Table.from_pylist(
        [
            {"sample_id": "a", "tool_calls": [{"name": "x", "arguments": {"a": "1"}}]},
            {"sample_id": "b", "tool_calls": [{"name": "y", "arguments": {"b": ["2"]}}]},
            {"sample_id": "c", "dialog": [{"reply": "r", "tool_calls": [{"name": "z"}]}]},
        ]
    )
    found, wanted = Records.of(table.to_pandas()), Records.of(table)
    assert [row.calls_made for row in found] == [row.calls_made for row in wanted]
    assert found[0].tool_calls[0].arguments == {"a": "1"}  # type: ignore[index]


def test_the_members_of_an_object_do_not_hang_on_the_other_rows() -> None:
    """A frame that is read as a table says of its first row what one says that is read row by row."""
    calls = [
        [{"name": "x", "arguments": {"a": None, "b": 1}}],
        [{"name": "y", "arguments": {"a": 1, "b": 1}}],
    ]
    plain = pd.DataFrame({"sample_id": ["a", "b"], "tool_calls": calls})
    by_row = plain.assign(expectation=[None, "answers"])
    assert Records.of(plain)[0].tool_calls == Records.of(by_row)[0].tool_calls
