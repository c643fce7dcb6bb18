"""Loading an eval set: all of it, or the reasons why not."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from evalkit.cases import load_cases, sha256_of
from evalkit.contracts import Case
from evalkit.errors import BadData, NoInput
from evalkit.reading import read


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its eval set."""
    return tmp_path / "set.jsonl"


def test_cases_come_in_the_order_of_the_file(file: Path) -> None:
    file.write_text('{"query_id":"b","question":"甲"}\n\n{"id":7,"query":"乙"}', encoding="utf-8")
    cases = load_cases(file)
    assert [(case.sample_id, case.query) for case in cases] == [("b", "甲"), ("7", "乙")]


def test_bad_lines_and_repeated_ids_are_named_together_in_order(file: Path) -> None:
    file.write_text('{"id":"a"}\n{"id":"a"}\n{bad\n{"id":"b"}\n{"id":"b"}\n{"id":"c"', encoding="utf-8")
    with pytest.raises(BadData) as error:
        load_cases(file)
    assert [(fault.line, fault.field) for fault in error.value.faults] == [
        (2, "sample_id"),
        (3, "line"),
        (5, "sample_id"),
        (6, "line"),
    ]
    assert "found 'b' again, as in line 4, wanted each id once" in str(error.value)


@pytest.mark.parametrize("text", ["", "\n\r\n  \n"], ids=["empty", "blank"])
def test_a_set_without_cases_is_no_input(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")
    with pytest.raises(NoInput, match="found no case, wanted at least one line"):
        load_cases(file)


def test_a_missing_set_is_no_input(file: Path) -> None:
    with pytest.raises(NoInput, match="found no such file"):
        load_cases(file)
    with pytest.raises(NoInput, match="found no such file"):
        sha256_of(file)


@pytest.mark.parametrize(
    ("raw", "digest"),
    [
        (b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ],
    ids=["empty", "abc"],
)
def test_the_hash_is_sha_256(file: Path, raw: bytes, digest: str) -> None:
    """The test vectors of FIPS 180-4's example document (NIST)."""
    file.write_bytes(raw)
    assert sha256_of(file) == digest


def test_the_hash_of_a_large_file_is_that_of_its_bytes(file: Path) -> None:
    raw = bytes(range(256)) * 20_000
    file.write_bytes(raw)
    assert sha256_of(file) == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize("form", ["gzip", "zstd", "parquet", "feather"])
def test_an_eval_set_is_read_in_every_form_and_ids_are_held_apart(file: Path, form: str) -> None:
    table = pa.table({"sample_id": ["a", "b", "a"], "query": ["甲", "乙", "丙"], "tags": [["x"], [], None]})
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in table.to_pylist())
    writers = {
        "gzip": lambda: file.write_bytes(gzip.compress(raw)),
        "zstd": lambda: file.write_bytes(pa.compress(raw, codec="zstd", asbytes=True)),
        "parquet": lambda: pq.write_table(table, file),
        "feather": lambda: feather.write_feather(table, str(file)),
    }
    writers[form]()
    with pytest.raises(BadData) as error:
        load_cases(file)
    assert str(error.value) == f"{file}:3: sample_id: found 'a' again, as in line 1, wanted each id once"
    assert [case.tags for case in read(file, Case).items] == [("x",), (), ()]
