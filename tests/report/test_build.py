"""What the commands write: whole files, the same bytes each time, nothing private when asked."""

from __future__ import annotations

import csv
import io
import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.contracts import EvalRecord
from evalkit.errors import StorageError
from evalkit.report import parquet, schemas
from evalkit.report.build import report_run, score_run
from evalkit.report.gate import gate
from evalkit.report.policy import KnownFailure, Policy

SCORED = ["samples.parquet", "slices.parquet", "confusions.parquet", "latency.parquet", "summary.json"]
REPORTED = ["failures.jsonl", "per_sample.csv", "report.html", "report.md"]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_files_are_where_they_are_said_to_be(make_digest, rich_run: list[EvalRecord], tmp_path: Path) -> None:
    folder = tmp_path / "报告 一" / "01RUN"
    digest = make_digest(rich_run)
    scored, reported = score_run(digest, folder), report_run(digest, folder)
    assert list(scored.files) == SCORED
    assert list(reported.files) == REPORTED
    assert sorted(path.name for path in folder.iterdir()) == sorted(SCORED + REPORTED)
    assert all(path == folder / name for name, path in (scored.files | reported.files).items())


def test_tables_read_back_as_they_were(make_digest, rich_run: list[EvalRecord], tmp_path: Path) -> None:
    digest = make_digest(rich_run)
    score_run(digest, tmp_path)
    for name, table in digest.tables._asdict().items():
        back = pq.read_table(tmp_path / f"{name}.parquet")
        assert back.schema.equals(table.schema, check_metadata=True)
        assert back.equals(table)


def test_summary_on_file_is_the_summary(make_digest, rich_run: list[EvalRecord], tmp_path: Path) -> None:
    written = score_run(make_digest(rich_run), tmp_path)
    text = (tmp_path / "summary.json").read_text(encoding="utf-8")
    assert json.loads(text) == written.summary
    assert "S14_退换货咨询" in text


def test_summary_on_file_holds_no_separator_and_no_control(make_digest, tmp_path: Path) -> None:
    label = "S1\u2028\u2029\x85\x9b31m"
    rows = [EvalRecord(sample_id="1", intent_l2=label, intent_pred="S2"), EvalRecord(sample_id="2")]
    written = score_run(make_digest(rows), tmp_path)
    text = (tmp_path / "summary.json").read_text(encoding="utf-8")
    assert not {"\u2028", "\u2029", "\x85", "\x9b"} & set(text)
    assert json.loads(text) == written.summary
    assert label in {row["intent_l2"] for row in written.summary["worst_intents"]}


def test_the_same_run_gives_the_same_bytes(make_digest, rich_run: list[EvalRecord], tmp_path: Path) -> None:
    """Worked out twice from records made twice, in two folders: no time, no path, no chance in any file."""
    for folder in ("a", "b"):
        records = [EvalRecord.model_validate_json(record.model_dump_json()) for record in rich_run]
        digest = make_digest(records, by=("difficulty",))
        score_run(digest, tmp_path / folder)
        report_run(digest, tmp_path / folder)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_files_are_for_their_owner_alone(make_digest, tmp_path: Path) -> None:
    score_run(make_digest([EvalRecord(sample_id="1")]), tmp_path / "r")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "r").iterdir()} == {0o600}


def test_a_run_over_an_older_one_leaves_no_rest(
    make_digest, rich_run: list[EvalRecord], tmp_path: Path
) -> None:
    for records in (rich_run, rich_run[:3]):
        score_run(make_digest(records), tmp_path)
    assert pq.read_metadata(tmp_path / "samples.parquet").num_rows == 3
    assert not list(tmp_path.glob(".*"))


def test_a_table_that_does_not_read_back_is_not_put_in_place(tmp_path: Path) -> None:
    """Parquet names the items of a list `element`; a table of another name would come back changed."""
    path = tmp_path / "t.parquet"
    table = pa.table({"n": [1]})
    parquet.write([table], path, schema=table.schema)
    before = path.read_bytes()
    changed = pa.table({"tags": pa.array([["a"]], pa.list_(pa.field("item", pa.string())))})
    with pytest.raises(StorageError, match="nothing was written"):
        parquet.write([changed], path, schema=changed.schema)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == ["t.parquet"]


def test_a_full_disk_is_told(make_digest, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageError):
        score_run(make_digest([EvalRecord(sample_id="1")]), tmp_path / "file")


PRIVATE = "张三，13800138000，zhang.san@example.com"


def private_record() -> EvalRecord:
    call = {"name": "book", "arguments": {"phone": "13800138000"}}
    return EvalRecord.model_validate(
        {
            "sample_id": "13800138000",
            "query": PRIVATE,
            "response": PRIVATE,
            "thinking": PRIVATE,
            "reference": PRIVATE,
            "intent_l2": "A",
            "tool_calls": [call],
            "filled_slots": {"phone": "13800138000"},
            "retrieved_contexts": [PRIVATE],
            "dialog": [{"sent_message": PRIVATE, "reply": PRIVATE, "tool_calls": [call]}],
            "own": {"deep": [PRIVATE]},
        }
    )


@pytest.mark.parametrize("name", REPORTED)
def test_private_numbers_are_hidden_when_asked(make_digest, tmp_path: Path, name: str) -> None:
    """All but the sample's id, which scores hang on; the numbers stay the same."""
    record = private_record().model_copy(update={"sample_id": "s1"})
    report_run(make_digest([record]), tmp_path, mask_pii=True)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert "138****8000" in text
    assert "z***@example.com" in text
    assert "13800138000" not in text
    assert "zhang.san" not in text


@pytest.mark.parametrize("name", REPORTED)
def test_private_numbers_are_shown_when_not_asked(make_digest, tmp_path: Path, name: str) -> None:
    report_run(make_digest([private_record()]), tmp_path)
    assert "13800138000" in (tmp_path / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["report.html", "report.md"])
@pytest.mark.parametrize("mask", [True, False], ids=["masked", "plain"])
def test_private_numbers_of_flips_and_notes_are_hidden_when_asked(
    make_digest, make_run, tmp_path: Path, name: str, *, mask: bool
) -> None:
    """What was asked and answered in the base counts as well: its records are nowhere else on the pages."""
    texts = {"query": [PRIVATE] * 9, "response": [PRIVATE] * 9}
    base, run = (make_run([right] * 9, texts=texts) for right in (1, 0))
    known = KnownFailure(sample_id="q00000", until=date(2020, 1, 1), reason=PRIVATE)
    policy = Policy(regression=("intent_top1",), known_failures=(known,))
    verdict = gate(run, base=base, policy=policy, today=date(2026, 8, 26))
    report_run(make_digest([]), tmp_path, verdict=verdict, mask_pii=mask)
    text = (tmp_path / name).read_text(encoding="utf-8")
    assert ("13800138000" in text, "zhang.san" in text) == (not mask, not mask)
    assert text.count("138****8000") == (text.count("z***@example.com") if mask else 0)
    assert ("138****8000" in text) == mask


def test_masking_changes_no_score(make_digest, rich_run: list[EvalRecord], tmp_path: Path) -> None:
    digest = make_digest(rich_run)
    plain, masked = (report_run(digest, tmp_path / str(mask), mask_pii=mask) for mask in (False, True))
    assert plain.summary == masked.summary


def test_csv_raw_is_an_opt_out(make_digest, tmp_path: Path) -> None:
    digest = make_digest([EvalRecord(sample_id="1", response="=1+1")])
    for raw in (True, False):
        report_run(digest, tmp_path, csv_raw=raw)
        text = (tmp_path / "per_sample.csv").read_text(encoding="utf-8-sig")
        (row,) = csv.DictReader(io.StringIO(text, newline=""))
        assert row["response"] == ("=1+1" if raw else "'=1+1")


def test_schemas_tell_what_each_column_means(make_digest, tmp_path: Path) -> None:
    """The description travels in the file: whoever opens it can read what a column is."""
    score_run(make_digest([EvalRecord(sample_id="1")]), tmp_path)
    told = schemas.described(pq.read_schema(tmp_path / "slices.parquet"))
    assert told["n_counted"] == "Those of them that the metric counts."
