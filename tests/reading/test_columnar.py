"""Parquet and Arrow: a run that was converted is the same run, and a damaged table is a fault of its row."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit import records
from evalkit.contracts import Case, EvalRecord
from evalkit.engines.local import local
from evalkit.errors import BadData
from evalkit.reading import Intake, encode, read
from evalkit.records import Records
from evalkit.records.loading import ROWS_UP_TO

Write = Callable[[pa.Table, Path], None]
Load = Callable[..., Records]


@pytest.fixture(params=[0, ROWS_UP_TO], ids=["by columns", "by row"])
def load(request: pytest.FixtureRequest) -> Load:
    """Both ways to read a run."""
    return partial(records.load, rows_up_to=request.param)


def parquet(table: pa.Table, path: Path) -> None:
    """Small row groups, so that there are several."""
    pq.write_table(table, path, row_group_size=7)


def arrow(table: pa.Table, path: Path) -> None:
    """The file form, which is Feather's as well."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table, max_chunksize=7)


def stream(table: pa.Table, path: Path) -> None:
    """The stream form."""
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=7)


FORMS = pytest.mark.parametrize("write", [parquet, arrow, stream])


def rows(n: int = 50) -> list[dict[str, Any]]:
    """Records as a run has them: lists, structs, nulls, and fields that nobody knows."""
    return [
        {
            "sample_id": f"样本-{i}",
            "query": f"问题 {i}\u2028",
            "intent_l1": "售后",
            "intent_l2": f"S{i % 5}",
            "intent_pred": f"S{i % 3}" if i % 7 else None,
            "intent_pred_all": [f"S{i % 3}", f"S{i % 4}"],
            "requires_rag": bool(i % 2) if i % 5 else None,
            "reference_doc_ids": [f"D{i % 9}"] * (i % 3),
            "retrieved_doc_ids": [f"D{j}" for j in range(i % 11)] if i % 6 else None,
            "response": "" if i % 10 == 0 else f"答 {i}",
            "ttft_ms": i * 1.25 if i % 4 else None,
            "answer_status": "ok" if i % 8 else "error",
            "evidence_status": "ok" if i % 9 else "error",
            "required_slots": [{"name": "phone", "value": str(i), "aliases": ["a"]}] if i % 2 else [],
            "expected_tools": [{"name": "find", "arguments": {"id": str(i)}}] if i % 3 else None,
            "tool_calls": [{"name": "find", "arguments": {"id": str(i % 4)}, "error": None}] if i % 3 else [],
            "tags": ["vip", "new"][: i % 3],
            "shop": f"s{i % 2}",
            "weight": i / 7,
        }
        for i in range(n)
    ]


def lines_of(told: list[dict[str, Any]], path: Path) -> Path:
    """The same as lines of JSON."""
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in told))
    return path


def told_by(found: Records) -> list[str]:
    """Every metric of the run with all means and scores, to the last digit."""
    return [
        repr((each.name, each.overall, *map(dict, (each.by_intent_l1, each.by_intent_l2, each.per_sample))))
        for each in local(found)
    ]


@FORMS
def test_a_converted_run_scores_to_the_same_bits(tmp_path: Path, write: Write, load: Load) -> None:
    plain = lines_of(rows(), tmp_path / "run.jsonl")
    table = tmp_path / "table.jsonl"
    write(pa.Table.from_pylist(rows()), table)
    assert told_by(load(table)) == told_by(records.load(plain))
    assert [row.model_dump() for row in load(table)] == [row.model_dump() for row in records.load(plain)]


def test_pandas_writes_the_same_run(tmp_path: Path, load: Load) -> None:
    plain = lines_of(rows(), tmp_path / "run.jsonl")
    pd.DataFrame(rows()).to_parquet(tmp_path / "run.parquet")
    pd.DataFrame(rows()).to_feather(tmp_path / "run.feather")
    assert told_by(load(tmp_path / "run.parquet")) == told_by(records.load(plain))
    assert told_by(load(tmp_path / "run.feather")) == told_by(records.load(plain))


def test_a_run_of_ours_comes_back_from_parquet(tmp_path: Path, load: Load) -> None:
    """Every field that a record has, as it is written; fields that are empty in all rows make no column."""
    ours = [EvalRecord.model_validate(row) for row in rows()]
    told = [json.loads(encode(record)) for record in ours]
    full = {name for name in told[0] if any(row[name] not in (None, {}, []) for row in told)}
    table = pa.Table.from_pylist([{name: row[name] for name in full} for row in told])
    pq.write_table(table, tmp_path / "run.parquet")
    assert list(load(tmp_path / "run.parquet")) == list(records.load(lines_of(told, tmp_path / "run.jsonl")))


def test_struct_fields_that_are_null_were_not_given(tmp_path: Path, load: Load) -> None:
    """Arrow gives every struct every field: an argument of one call is null in all others."""
    calls = [[{"name": "a", "arguments": {"x": 1}}], [{"name": "b", "arguments": {"y": 2}}]]
    table = pa.Table.from_pylist([{"sample_id": str(n), "tool_calls": call} for n, call in enumerate(calls)])
    pq.write_table(table, tmp_path / "run.parquet")
    got = [record.tool_calls[0].arguments for record in load(tmp_path / "run.parquet") if record.tool_calls]
    assert got == [{"x": 1}, {"y": 2}]


def test_maps_are_objects_and_keep_their_nulls(tmp_path: Path, load: Load) -> None:
    kind = pa.map_(pa.string(), pa.string())
    table = pa.table({"sample_id": ["a"], "own": pa.array([[("x", "1"), ("y", None)]], kind)})
    pq.write_table(table, tmp_path / "run.parquet")
    (record,) = load(tmp_path / "run.parquet")
    assert record.model_extra == {"own": {"x": "1", "y": None}}


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["a", "b"]).dictionary_encode(),
        pa.array(["a", "b"], pa.large_string()),
        pa.array([1, 2], pa.int64()),
        pa.array([1, 2], pa.uint8()),
    ],
    ids=["dictionary", "large", "int64", "uint8"],
)
@FORMS
def test_ids_may_be_texts_or_whole_numbers(tmp_path: Path, write: Write, column: pa.Array) -> None:
    write(pa.table({"sample_id": column}), tmp_path / "t")
    assert [case.sample_id for case in read(tmp_path / "t", Case).items] in (["a", "b"], ["1", "2"])


@FORMS
def test_rows_that_do_not_hold_are_named(tmp_path: Path, write: Write, load: Load) -> None:
    told = rows()
    told[3]["ttft_ms"] = -1.0
    told[20]["answer_status"] = "good"
    told[40]["weight"] = float("nan")
    told[41]["sample_id"] = None
    write(pa.Table.from_pylist(told), tmp_path / "t")
    with pytest.raises(BadData) as error:
        load(tmp_path / "t")
    assert [(fault.line, fault.field) for fault in error.value.faults] == [
        (4, "ttft_ms"),
        (21, "answer_status"),
        (41, "weight"),
        (42, "sample_id"),
    ]
    assert error.value.faults[2].found == "nan"


def test_rows_are_rejected_with_their_cells(tmp_path: Path, load: Load) -> None:
    told = rows()
    told[3]["ttft_ms"] = -1.0
    pq.write_table(pa.Table.from_pylist(told), tmp_path / "t")
    intake = Intake(reject=True)
    assert len(load(tmp_path / "t", intake=intake)) == 49
    (bad,) = intake.rejected
    assert (bad.line, bad.offset) == (4, None)
    assert json.loads(bad.raw)["ttft_ms"] == -1.0
    assert str(intake.counts) == "50 lines = 49 ok + 1 rejected + 0 blank + 0 torn"


def test_a_table_without_a_channel_never_asked_it(tmp_path: Path, load: Load) -> None:
    table = pa.table({"sample_id": ["a"], "response": pa.array([None], pa.string())})
    pq.write_table(table, tmp_path / "t")
    (record,) = load(tmp_path / "t")
    assert (record.answer_status, record.evidence_status) == ("ok", "skipped")


@FORMS
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_cut_table_is_a_fault(tmp_path: Path, write: Write, share: float) -> None:
    path = tmp_path / "t"
    write(pa.Table.from_pylist(rows()), path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(len(raw) * share)])
    reading = read(path, EvalRecord)
    assert not reading.whole
    assert reading.faults[-1].field == "file"
    assert reading.faults[-1].line == len(reading.items) + 1
    assert len(reading.items) < 50


@FORMS
def test_a_table_with_damage_is_read_or_refused(tmp_path: Path, write: Write) -> None:
    """A byte changed at every 37th place: rows, or faults, and never another exception."""
    path = tmp_path / "t"
    write(pa.Table.from_pylist(rows(20)), path)
    raw = path.read_bytes()
    for place in range(8, len(raw), max(37, len(raw) // 150)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 0xFF]) + raw[place + 1 :])
        reading = read(path, EvalRecord)
        assert reading.faults or len(reading.items) <= 20


def test_offsets_that_lead_outside_are_refused(tmp_path: Path) -> None:
    """What is in an Arrow file is whatever its writer said: it is validated before it is looked at."""
    good = pa.array(["a", "b", "c"])
    offsets = pa.py_buffer(np.array([0, 1, 2**30, 3], dtype=np.int32).tobytes())
    bad = pa.Array.from_buffers(pa.string(), 3, [None, offsets, good.buffers()[2]])
    arrow(pa.table({"sample_id": bad}), tmp_path / "t")
    assert read(tmp_path / "t", Case).faults[0].found.startswith("damaged data (")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["sample_id", "sample_id"])
    arrow(table, tmp_path / "t")
    (fault,) = read(tmp_path / "t", Case).faults
    assert fault.found == "the column 'sample_id' twice"


@FORMS
@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2**45], pa.timestamp("s")),
        pa.array([1, 2**45], pa.timestamp("s", "UTC")),
        pa.array([1, 2**31 - 1], pa.int32()).cast(pa.date32()),
    ],
    ids=["moment", "moment in UTC", "day"],
)
def test_times_that_no_clock_has_are_a_fault(
    tmp_path: Path, write: Write, column: pa.Array, load: Load
) -> None:
    write(pa.table({"sample_id": ["a", "b"], "asked_at": column}), tmp_path / "t")
    with pytest.raises(BadData, match=r"t:1: file: found damaged data \("):
        load(tmp_path / "t")
