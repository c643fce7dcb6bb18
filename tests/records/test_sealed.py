"""Columns kept beside a run: read once, never trusted when they are another's, or damaged."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData
from evalkit.reading import Intake, encode
from evalkit.records import Records, load
from evalkit.records.held import HeldFile
from evalkit.records.sealed import columns_path, sealed


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
    assert sealed(HeldFile(path)) is not None
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
    assert sealed(HeldFile(path)) is None
    by_columns(path)
    os.utime(path, ns=(1, 1))
    assert sealed(HeldFile(path)) is not None


@pytest.mark.parametrize("place", [0, 40, 300, 2_000, 5_000, -9, -1])
def test_damaged_columns_are_made_anew(tmp_path: Path, place: int) -> None:
    path = run(tmp_path / "run.jsonl")
    wanted = told(by_columns(path))
    kept = columns_path(path)
    good = kept.read_bytes()
    for bad in (
        good[:place] + bytes([good[place] ^ 64]) + good[place:][1:],
        good[:place],
        b"",
        b"{}\n",
        good.replace(b'"layout": [1', b'"layout": [0'),
    ):
        kept.write_bytes(bad)
        assert told(by_columns(path)) == wanted
        assert kept.read_bytes() == good or len(kept.read_bytes()) > 0


def test_a_folder_that_takes_no_files_is_no_obstacle(tmp_path: Path) -> None:
    path = run(tmp_path / "run.jsonl")
    columns_path(path).mkdir()
    assert len(by_columns(path)) == 39
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
