"""Calls as columns: equal codes where names and arguments are equal, wherever the records come from."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord, ToolCall, Turn
from evalkit.reading import encode
from evalkit.records import Records, ToolCalls, canonical, load
from evalkit.records.columnar import Columns
from evalkit.records.fields import of_rows

NUMBERS = st.sampled_from((0, 1, -1, 10**400, 0.0, -0.0, 1.0, 0.1, 1e22, 5e-324, 2.0**53, 2**53 + 1))
TEXTS = st.sampled_from(("", "1", "true", "null", 'a"', "a\\", "[]", "退货", "退货\u200b", "\ud800", "0x1"))
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def equal(found: object, wanted: object) -> bool:
    """Whether two JSON values are equal, by their parts."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(equal(found[name], wanted[name]) for name in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(equal, found, wanted))
    return found == wanted


@given(VALUES, VALUES)
def test_texts_are_equal_where_values_are(found: object, wanted: object) -> None:
    assert (canonical(found) == canonical(wanted)) == equal(found, wanted)


PLAIN = TEXTS.filter(lambda text: text.isprintable())
CALLS = st.lists(
    st.builds(
        ToolCall, name=PLAIN.filter(bool), arguments=st.dictionaries(PLAIN, NUMBERS | PLAIN, max_size=3)
    ),
    max_size=3,
)
RECORDS = st.lists(
    st.builds(
        EvalRecord,
        sample_id=st.just("a"),
        expected_tools=st.none() | CALLS,
        tool_calls=st.none() | CALLS,
        dialog=st.lists(st.builds(Turn, tool_calls=CALLS), max_size=2),
    ),
    max_size=6,
)


def as_lists(calls: ToolCalls) -> list[object]:
    """The codes of each row: null, or for each call its name and its arguments."""
    names, given = calls
    return [
        None
        if none
        else [
            (names.codes[call], given.codes[given.offsets[call] : given.offsets[call + 1]].tolist())
            for call in range(start, stop)
        ]
        for none, start, stop in zip(names.missing, names.offsets, names.offsets[1:], strict=False)
    ]


@given(RECORDS, st.integers(0, 6))
def test_calls_of_rows_are_calls_of_columns(rows: list[EvalRecord], cut: int) -> None:
    """The same codes, also from columns in pieces; calls of turns where the record has none of its own."""
    import pyarrow as pa

    table = pa.concat_tables([of_rows(rows), of_rows(rows[:cut])]).slice(0, len(rows))
    pieces = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    by_row = Records(rows).calls("expected_tools", "calls_made")
    for columns in (table, pieces):
        found = Records(rows, columns=Columns(columns)).calls("expected_tools", "calls_made")
        assert list(map(as_lists, found)) == list(map(as_lists, by_row))
    texts: dict[object, object] = {}
    for calls, name in zip(by_row, ("expected_tools", "calls_made"), strict=True):
        for row, codes in zip(rows, as_lists(calls), strict=True):
            made = getattr(row, name)
            assert (codes is None) == (made is None)
            for call, (code, arguments) in zip(made or (), codes or (), strict=True):
                assert texts.setdefault(("name", code), call.name) == call.name
                for (key, value), argument in zip(call.arguments.items(), arguments, strict=True):
                    assert texts.setdefault(argument, (key, canonical(value))) == (key, canonical(value))
    assert len(texts) == len(set(texts.values()))


def test_a_field_of_somebody_else_is_no_column_of_ours(tmp_path: Path) -> None:
    """A key `calls_made` in a line is kept, and is not taken for the calls."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(
        b'{"sample_id": "a", "calls_made": 3, "tool_calls": [{"tool": "t", "args": {"n": 1}}]}\n'
    )
    for rows_up_to in (0, 1 << 20):
        records = load(path, rows_up_to=rows_up_to)
        (made,) = records.calls("calls_made")
        assert as_lists(made)[0] != []
        assert len(made.arguments.codes) == 1
        assert records.column("calls_made") == [3]


def test_told_and_given_of_calls(tmp_path: Path) -> None:
    """As of other lists, from columns alone."""
    path = tmp_path / "run.jsonl"
    rows = [
        EvalRecord(sample_id=str(n), expected_tools=calls)
        for n, calls in enumerate((None, (), [ToolCall(name="t")]))
    ]
    path.write_bytes(b"".join(map(encode, rows)))
    kept = load(path, rows_up_to=0)
    path.write_bytes(b"x" * path.stat().st_size)
    for records in (kept, Records(rows)):
        assert records.told("expected_tools").tolist() == [False, True, True]
        assert records.given("expected_tools").tolist() == [False, False, True]


def test_half_a_surrogate_pair_in_an_argument(tmp_path: Path) -> None:
    """Arrow cannot hold it: such a run is read as rows."""
    path = tmp_path / "run.jsonl"
    record = EvalRecord(sample_id="a", tool_calls=(ToolCall(name="t", arguments={"n": "\ud800"}),))
    path.write_bytes(encode(record))
    records = load(path, rows_up_to=0)
    assert list(records) == [record]
    with pytest.raises(UnicodeEncodeError):
        of_rows([record])
