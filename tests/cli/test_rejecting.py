"""Bad lines may be rejected: they are kept byte for byte, counted, and never more than was allowed."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click import NoSuchOption
from click.testing import CliRunner, Result

from evalkit.cli import commands
from evalkit.errors import BadData, NoInput

GOOD = b'{"sample_id":"%d","intent_l2":"S1","intent_pred":"S1"}'
BAD = [b"{bad", b'{"sample_id":"x","tags":3}', b'{"sample_id":"\xff"}', b"[]\r"]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of two good lines, four bad ones, two blank ones and a torn one."""
    monkeypatch.chdir(tmp_path)
    lines = [GOOD % 1, *BAD[:2], b"", GOOD % 2, b" ", *BAD[2:], b'{"sample']
    (tmp_path / "run.jsonl").write_bytes(b"\n".join(lines))
    return tmp_path


def evalkit(*words: str) -> Result:
    """What the command does, its errors raised."""
    return CliRunner().invoke(commands, words, standalone_mode=False)


def rejects(folder: Path) -> list[dict[str, Any]]:
    """What `rejects.jsonl` has."""
    return [json.loads(line) for line in (folder / "rejects.jsonl").read_bytes().splitlines()]


@pytest.mark.parametrize("command", ["score", "report"])
def test_rejected_lines_are_kept_as_they_are(place: Path, command: str) -> None:
    done = evalkit(command, "run.jsonl", "--on-bad-line=reject", "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.stdout)["lines"] == {"lines": 9, "ok": 2, "rejected": 4, "blank": 2, "torn": 1}
    raw = (place / "run.jsonl").read_bytes()
    found = rejects(place / "reports" / "run")
    assert [bad["line"] for bad in found] == [2, 3, 7, 8]
    assert [base64.b64decode(bad["raw"]) for bad in found] == [line.removesuffix(b"\r") for line in BAD]
    assert all(raw[bad["offset"] :].startswith(base64.b64decode(bad["raw"])) for bad in found)
    assert found[0]["reason"].startswith("line column 2: found Expecting property name")
    assert "rejects.jsonl" in json.loads(done.stdout)["files"]


def test_a_person_is_told_the_law() -> None:
    done = evalkit("score", "run.jsonl", "--on-bad-line=reject")
    told = " ".join(done.stdout.split())
    assert "9 lines = 2 ok + 4 rejected + 2 blank + 1 torn" in told


def test_strict_is_the_default_and_writes_nothing(place: Path) -> None:
    done = evalkit("score", "run.jsonl")
    assert isinstance(done.exception, BadData)
    assert [fault.line for fault in done.exception.faults] == [2, 3, 7, 8]
    assert not (place / "reports").exists()


@pytest.mark.parametrize(("limit", "fits"), [("3", False), ("4", True), ("0", False)])
def test_no_more_lines_are_rejected_than_allowed(place: Path, limit: str, fits: object) -> None:
    done = evalkit("score", "run.jsonl", "--on-bad-line=reject", "--reject-limit", limit)
    assert (done.exit_code == 0) == fits
    assert isinstance(done.exception, BadData) != fits
    assert (place / "reports").exists() == fits
    told = f"Nothing was rejected: found 4 bad lines, wanted at most the {limit} of --reject-limit."
    assert str(done.exception).endswith(told) != fits


@pytest.mark.parametrize(
    "arguments",
    [("worst", "run.jsonl"), ("show", "run.jsonl", "1"), ("fix", "run.jsonl"), ("plan", "run.jsonl")],
    ids=lambda words: words[0],
)
def test_commands_that_show_a_run_can_leave_bad_lines_out_and_say_so(
    place: Path, arguments: tuple[str, ...]
) -> None:
    assert isinstance(evalkit(*arguments).exception, BadData)
    done = evalkit(*arguments, "--on-bad-line=reject")
    assert done.exit_code == 0, done.exception
    told = "! run: bad lines were left out: 9 lines = 2 ok + 4 rejected + 2 blank + 1 torn"
    assert done.stderr.splitlines() == [told]
    assert not (place / "reports").exists()
    assert isinstance(evalkit(*arguments, "--on-bad-line=reject", "--reject-limit=3").exception, BadData)


def test_either_side_of_a_comparison_can_leave_bad_lines_out(place: Path) -> None:
    (place / "other.jsonl").write_bytes((place / "run.jsonl").read_bytes() + b"\n")
    arguments = ("diff", "other.jsonl", "run.jsonl", "--changed-set")
    assert isinstance(evalkit(*arguments).exception, BadData)
    done = evalkit(*arguments, "--on-bad-line=reject")
    assert done.exit_code == 0, done.exception
    assert [line.split(":")[0] for line in done.stderr.splitlines()] == ["! other", "! run"]


@pytest.mark.parametrize("command", ["gate", "judge", "certify"])
def test_what_decides_or_pays_takes_whole_runs_only(command: str) -> None:
    done = evalkit(command, "run.jsonl", "--on-bad-line=reject")
    assert isinstance(done.exception, NoSuchOption)


def test_a_limit_without_rejecting_means_nothing() -> None:
    done = evalkit("score", "run.jsonl", "--reject-limit", "3")
    assert done.exception is not None
    assert str(done.exception).startswith("--reject-limit: found without --on-bad-line=reject")


def test_a_run_of_nothing_but_bad_lines_is_no_input(place: Path) -> None:
    (place / "run.jsonl").write_bytes(b"\n".join([*BAD, b""]))
    done = evalkit("score", "run.jsonl", "--on-bad-line=reject")
    assert isinstance(done.exception, NoInput)
    assert "4 lines = 0 ok + 4 rejected + 0 blank + 0 torn" in str(done.exception)
    assert "run.jsonl:1: line column 2: found Expecting property name" in str(done.exception)
    assert len(rejects(place / "reports" / "run")) == 4
    assert not (place / "reports" / "run" / "summary.json").exists()


def test_what_was_not_read_is_not_rejected(place: Path) -> None:
    """A file cut off, or a line without end: nobody knows how much is lost."""
    raw = gzip.compress((place / "run.jsonl").read_bytes())
    (place / "run.jsonl").write_bytes(raw[:-4])
    done = evalkit("score", "run.jsonl", "--on-bad-line=reject")
    assert isinstance(done.exception, BadData)
    assert str(done.exception).endswith("the file could not be read to its end.")
    (place / "run.jsonl").write_bytes(GOOD % 1 + b"\n" + b"x" * (2**24 + 1))
    assert isinstance(evalkit("score", "run.jsonl", "--on-bad-line=reject").exception, BadData)
    assert not (place / "reports").exists()


def test_a_large_bad_file_is_told_in_a_hundred_faults_and_a_count(place: Path) -> None:
    """The last of them says why the rest was not read, if it was not."""
    (place / "run.jsonl").write_bytes(b"{bad\n" * 5_000)
    told = str(evalkit("score", "run.jsonl").exception).splitlines()
    assert (len(told), told[-1]) == (101, "… and 4,900 more")
    (place / "run.jsonl").write_bytes(gzip.compress(b"{bad\n" * 5_000)[:-4])
    told = str(evalkit("score", "run.jsonl").exception).splitlines()
    assert "run.jsonl:5001: file: found the end of the gzip data" in told[-2]
    assert told[-1] == "… and 4,901 more"


def test_rejects_of_an_earlier_reading_do_not_stay(place: Path) -> None:
    evalkit("score", "run.jsonl", "--on-bad-line=reject")
    (place / "run.jsonl").write_bytes(GOOD % 1)
    evalkit("score", "run.jsonl", "--on-bad-line=reject")
    assert rejects(place / "reports" / "run") == []
    evalkit("score", "run.jsonl")
    assert not (place / "reports" / "run" / "rejects.jsonl").exists()


def test_the_law_stands_in_every_summary(place: Path) -> None:
    (place / "run.jsonl").write_bytes(GOOD % 1 + b"\n\n" + GOOD % 2 + b"\n{")
    evalkit("score", "run.jsonl")
    told = json.loads((place / "reports" / "run" / "summary.json").read_bytes())
    assert told["lines"] == {"lines": 4, "ok": 2, "rejected": 0, "blank": 1, "torn": 1}


@pytest.mark.parametrize("kind", [".jsonl", ".jsonl.gz", ".parquet"])
def test_an_engine_that_measures_parts_rejects_the_same(place: Path, kind: str) -> None:
    """Of lines as they are, out of a compressed file, and of rows: the same lines, and the same counts."""
    path = place / f"other{kind}"
    raw = (place / "run.jsonl").read_bytes()
    if kind == ".parquet":
        cells = {"sample_id": ["a", None, "b"], "ttft_ms": [1.5, 2.5, -1.0], "own": [1.0, 1.0, 1.0]}
        pq.write_table(pa.table(cells), path)
    else:
        path.write_bytes(gzip.compress(raw) if kind.endswith(".gz") else raw)
    told = []
    for engine in ("memory", "stream"):
        done = evalkit("score", path.name, "--on-bad-line=reject", "--json", "--engine", engine)
        assert done.exit_code == 0, done.exception
        told.append((json.loads(done.stdout)["lines"], rejects(place / "reports" / "other")))
    assert told[0] == told[1]
    assert told[0][0]["rejected"] == (2 if kind == ".parquet" else 4)
