"""Columns kept beside a run: read once, never trusted when they are another's, or damaged."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import resource
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData, StorageError
from evalkit.reading import Intake, encode, read
from evalkit.records import Records, load, on_file, parts
from evalkit.records.held import HeldFile
from evalkit.records.sealed import BATCH, LAYOUT, columns_path, kept


def run(path: Path, n: int = 40, *, intent: str = "S1") -> Path:
    """A run of n samples, the last of them twice."""
    rows = [
        EvalRecord(
            sample_id=f"c{min(number, n - 2)}", intent_l2=intent, response='答\n"', retrieved_doc_ids=("D1",)
        )
        for number in range(n)
    ]
    path.write_bytes(b"".join(map(encode, rows)) + b'\n{"sample_id": "torn')
    return path


def told(records: Records) -> tuple[object, ...]:
    return list(records), records.keys, records.column("intent_l2"), records.superseded, records.torn


def by_columns(path: Path, intake: Intake | None = None) -> Records:
    return load(path, rows_up_to=0, intake=intake)


def test_the_second_reading_takes_the_columns_of_the_first(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    first, intake = by_columns(path), Intake()
    assert kept(HeldFile(path)) is not None
    second = by_columns(path, intake)
    assert told(second) == told(first) == told(load(path))
    assert intake.counts == (42, 40, 0, 1, 1)


def test_columns_of_other_bytes_are_not_taken(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl", intent="S1")
    by_columns(path)
    times = path.stat()
    run(path, intent="S2")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert set(by_columns(path).column("intent_l2")) == {"S2"}
    assert set(by_columns(path).column("intent_l2")) == {"S2"}


def test_the_same_bytes_at_another_time_are_known_by_their_hash(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    assert kept(HeldFile(path)) is None
    by_columns(path)
    os.utime(path, ns=(1, 1))
    assert kept(HeldFile(path)) is not None


@pytest.mark.parametrize("place", [0, 40, 300, 2_000, 5_000, -9, -1])
def test_damaged_columns_are_made_anew(tmp_path: Path, place: int) -> None:
    path = run(tmp_path / "run.jsonl")
    wanted = told(by_columns(path))
    place_of = columns_path(path)
    good = place_of.read_bytes()
    for bad in (
        good[:place] + bytes([good[place] ^ 64]) + good[place:][1:],
        good[:place],
        b"",
        b"{}\n",
        good.replace(b'"layout": [%d' % LAYOUT[0], b'"layout": [1'),
    ):
        place_of.write_bytes(bad)
        assert told(by_columns(path)) == wanted
        assert kept(HeldFile(path)) is not None


def test_a_folder_that_takes_no_files_is_no_obstacle(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    columns_path(path).mkdir()
    assert len(by_columns(path)) == 39
    assert len(by_columns(path)) == 39


def test_a_disk_that_fills_up_is_no_obstacle(tmp_path: Path) -> None:
    """As little as the limit of a file's size leaves room for: the columns are not kept, or told to have no place."""
    path = run(tmp_path / "run.jsonl")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for room in (0, 100, 5_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        try:
            with pytest.raises(StorageError, match="the disk refused"):
                by_columns(path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert [file.name for file in tmp_path.iterdir()] == ["run.jsonl"]
    assert len(by_columns(path)) == 39


COUNTING = """
import sys
from evalkit.records import load
names = []
sys.addaudithook(lambda event, args: names.append(str(args[1])) if event == "os.rename" else None)
load(sys.argv[1], rows_up_to=0)
print(sum(name.endswith(".columns") for name in names))
"""


def test_columns_are_put_in_place_once(tmp_path: Path) -> None:
    """Of a sample asked again nobody ever finds both records, whoever reads meanwhile or is killed."""
    path = run(tmp_path / "run.jsonl")
    command = [sys.executable, "-c", COUNTING, str(path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "1\n"


def test_columns_that_were_taken_away_are_told_to_another_process(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    held = on_file(path, Intake())
    assert held is not None
    sent = pickle.dumps(held)
    assert len(pickle.loads(sent)) == len(held)  # noqa: S301 - our own
    run(path, 30)
    by_columns(path)
    with pytest.raises(StorageError, match="changed while it was read"):
        pickle.loads(sent)  # noqa: S301 - our own
    columns_path(path).unlink()
    with pytest.raises(StorageError, match="changed while it was read"):
        pickle.loads(sent)  # noqa: S301 - our own
    assert len(held.between(0, 39)) == 39


def test_columns_are_kept_behind_no_link(tmp_path: Path) -> None:
    """A folder from somebody else may hold one that leads to any file: reading a run replaces none of them."""
    path, other = run(tmp_path / "run.jsonl"), tmp_path / "other"
    other.write_text("mine")
    for end in (other, path, columns_path(path), tmp_path / "nowhere" / "at all"):
        columns_path(path).symlink_to(end)
        before = path.read_bytes()
        for intake in (Intake(), Intake(reject=True)):
            assert len(by_columns(path, intake)) == 39
        assert (path.read_bytes(), other.read_text()) == (before, "mine")
        assert columns_path(path).is_symlink()
        columns_path(path).unlink()


def test_a_pipe_in_the_place_of_columns_stops_nobody(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    os.mkfifo(columns_path(path))
    assert len(by_columns(path)) == 39


def test_a_file_with_bad_lines_is_never_kept(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"sample_id": "a"}\n{"sample_id": 1.5}\n')
    for _ in range(2):
        with pytest.raises(BadData, match=r"run\.jsonl:2"):
            by_columns(path)
        intake = Intake(reject=True)
        assert len(by_columns(path, intake)) == 1
        assert len(intake.rejected) == 1
    assert not columns_path(path).exists()


@pytest.mark.parametrize("rows", [1, 7, 1_000])
def test_parts_together_are_the_run(tmp_path: Path, rows: int) -> None:
    path = run(tmp_path / "run.jsonl")
    whole, cut = load(path), list(parts(path, rows=rows))
    assert [len(part) for part in cut[:-1]] == [rows] * (len(cut) - 1)
    assert [record for part in cut for record in part] == list(whole)
    assert [label for part in cut for label in part.column("intent_l2")] == whole.column("intent_l2")


def test_parts_over_more_than_one_batch_with_samples_asked_again(tmp_path: Path) -> None:
    """The newest that is ok counts and stands where its sample stood first, in whatever batch either is."""
    path, n = tmp_path / "run.jsonl", 2 * BATCH + 100
    lines = [b'{"sample_id":"c%d","response":"one"}\n' % number for number in range(n)]
    lines += [b'{"sample_id":"c%d","response":"two"}\n' % number for number in range(0, n, 5_000)]
    lines += [b'{"sample_id":"c0","answer_status":"error"}\n']
    path.write_bytes(b"".join(lines))
    cut = list(parts(path, rows=5_000))
    assert [key for part in cut for key in part.keys] == [f"c{number}" for number in range(n)]
    assert [part.column("response")[:2] for part in cut] == [["two", "one"]] * len(cut)
    assert kept(HeldFile(path)).superseded == len(range(0, n, 5_000)) + 1
    assert by_columns(path).keys == load(path, rows_up_to=1 << 30).keys


def test_what_a_folder_does_not_take_is_read_in_parts_all_the_same(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    columns_path(path).mkdir()
    assert sum(len(part) for part in parts(path, rows=10)) == 39
    path.write_bytes(path.read_bytes() + b'"}\n{"sample_id": 1.5}\n')
    intake = Intake(reject=True)
    assert sum(len(part) for part in parts(path, rows=10, intake=intake)) == 40
    assert len(intake.rejected) == 1


def test_what_no_column_holds_comes_in_parts_too(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"sample_id":"a","query":"\\ud800"}\n{"sample_id":"b"}\n')
    assert [part.keys for part in parts(path, rows=1)] == [("a",), ("b",)]
    table = pa.table({"sample_id": ["a", "b"], "repeat": pa.array([0, 2**63], pa.uint64())})
    pq.write_table(table, tmp_path / "run.parquet")
    assert [part.keys for part in parts(tmp_path / "run.parquet", rows=1)] == [("a",), (f"b#{2**63}",)]
    assert by_columns(tmp_path / "run.parquet")[1].repeat == 2**63


def packed(path: Path, kind: str) -> Path:
    """The run in a file of another kind; in a table a line that is no record has no place."""
    raw, place = path.read_bytes(), path.with_name(f"run.{kind}")
    if kind == "gz":
        place.write_bytes(gzip.compress(raw))
    elif kind == "zst":
        place.write_bytes(pa.compress(raw, codec="zstd", asbytes=True))
    else:
        rows = [json.loads(encode(record)) for record in read(path, EvalRecord, torn_tail=True).items]
        full = {name: [row[name] for row in rows] for name in rows[0] if any(row[name] for row in rows)}
        table = pa.table(full)
        write = {"parquet": pq.write_table, "feather": feather.write_feather, "arrows": stream}[kind]
        write(table, place)
    return place


def stream(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table, max_chunksize=7)


KINDS = pytest.mark.parametrize("kind", ["gz", "zst", "parquet", "feather", "arrows"])


@KINDS
def test_a_run_of_any_kind_is_kept_as_columns_and_comes_in_parts(tmp_path: Path, kind: str) -> None:
    path = packed(run(tmp_path / "run.jsonl"), kind)
    wanted = load(path)
    for _ in range(2):
        assert told(by_columns(path)) == told(wanted)
        assert kept(HeldFile(path)) is not None
    cut = list(parts(path, rows=7))
    assert [record for part in cut for record in part] == list(wanted)
    assert [record for part in reversed(cut) for record in reversed(part)] == [*reversed(wanted)]
    assert [key for part in cut for key in part.keys] == list(wanted.keys)


@KINDS
def test_another_process_finds_the_rows_itself(tmp_path: Path, kind: str) -> None:
    path = packed(run(tmp_path / "run.jsonl"), kind)
    here = on_file(path, Intake())
    assert here is not None
    there = pickle.loads(pickle.dumps(here))  # noqa: S301 - our own
    assert list(there.between(5, 9)) == list(here.between(5, 9)) == load(path)[5:9]


@KINDS
def test_rows_of_a_file_that_was_written_again_are_not_made_up(tmp_path: Path, kind: str) -> None:
    path = packed(run(tmp_path / "run.jsonl"), kind)
    records = by_columns(path)
    packed(run(tmp_path / "run.jsonl", intent="S2"), kind)
    with pytest.raises(StorageError, match="changed while it was read"):
        records[0]


def test_memory_does_not_grow_with_a_table_or_a_compressed_run(tmp_path: Path) -> None:
    """Four times the rows, in one row group, are read in about the same memory: of Arrow's and of Python's."""
    peaks: dict[str, list[int]] = {"gz": [], "parquet": []}
    script = (
        "import sys, pyarrow as pa, tracemalloc; from evalkit.records import parts; tracemalloc.start()\n"
        "n = sum(len(part) for part in parts(sys.argv[1], rows=1_000))\n"
        "print(n, tracemalloc.get_traced_memory()[1] + pa.default_memory_pool().max_memory())"
    )
    for n in (30_000, 120_000):
        texts = [f"{number * 7919 % 99_991:08d}" * 40 for number in range(n)]
        table = pa.table({"sample_id": [f"c{number}" for number in range(n)], "response": texts})
        pq.write_table(
            table, tmp_path / "run.parquet", row_group_size=n, use_dictionary=False, compression="none"
        )
        with gzip.open(tmp_path / "run.gz", "wb", compresslevel=1) as file:
            file.writelines(
                b'{"sample_id":"c%d","response":"%s"}\n' % (i, text.encode()) for i, text in enumerate(texts)
            )
        for kind, found in peaks.items():
            told_by = subprocess.run(
                [sys.executable, "-c", script, str(tmp_path / f"run.{kind}")],
                capture_output=True,
                check=True,
                text=True,
            )
            rows, peak = map(int, told_by.stdout.split())
            assert rows == n
            found.append(peak)

    for small, large in peaks.values():
        assert large < 1.3 * small
