"""The CSV opens in a spreadsheet: Chinese, numbers as numbers, and no formula."""

from __future__ import annotations

import csv
import io

import pytest

from evalkit.contracts import EvalRecord
from evalkit.report.csv import guarded, per_sample
from evalkit.report.text import CAP_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1+1",
        "-1+1",
        "@SUM(A1)",
        "\tx",
        "\rx",
        "＝1",
        "＋a",
        "－a",
        "＠a",
        "  =1",
        "\u200b=1",
        "\ufeff=1",
        "\u3000=1",
        "\xa0=1",
        "\n=1",
        "-Infinity",
        "+",
        "=",
        "-",
    ],
    ids=ascii,
)
def test_what_begins_like_a_formula_is_guarded(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-1", "+1.5", "-2.5e-3", "1", "", "a=1", "退货", "1-1"], ids=ascii)
def test_numbers_and_plain_texts_are_not(text: str) -> None:
    assert guarded(text) == text


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_it_begins_with_the_mark_that_excel_needs(make_digest) -> None:
    assert per_sample(make_digest([EvalRecord(sample_id="1")])).startswith(b"\xef\xbb\xbfrun_id,")


def test_cells(make_digest) -> None:
    """Null is empty, numbers are plain, lists are joined, a failed sample says where and why."""
    record = EvalRecord(
        sample_id="1",
        query="能退吗？",
        intent_l2="S14",
        intent_pred="S15",
        requires_rag=False,
        tags=["a", "b"],
    )
    (row,) = rows(per_sample(make_digest([record])))
    assert row["query"] == "能退吗？"
    assert row["intent_top1"] == "0.0"
    assert row["recall@5"] == ""
    assert row["requires_rag"] == "false"
    assert row["tags"] == "a, b"
    assert row["failed_at"] == "intent"
    assert row["reasons"] == "intent S15, expected S14"


def test_numbers_are_those_of_the_table(make_digest, rich_run: list[EvalRecord]) -> None:
    digest = make_digest(rich_run)
    found = rows(per_sample(digest))
    for name in ("intent_top1", "ndcg@10", "total_ms", "repeat"):
        column = digest.tables.samples[name].to_pylist()
        assert [float(row[name]) if row[name] else None for row in found] == column


def test_long_texts_are_cut_and_say_so(make_digest) -> None:
    record = EvalRecord(sample_id="1", response="x" * (CAP_BYTES + 7))
    assert rows(per_sample(make_digest([record])))[0]["response"].endswith("x … (7 more bytes)")


def test_raw_leaves_texts_as_they_came(make_digest) -> None:
    record = EvalRecord(sample_id="1", response="=1+1\u202e")
    digest = make_digest([record])
    assert rows(per_sample(digest, raw=True))[0]["response"] == "=1+1\u202e"
    assert rows(per_sample(digest))[0]["response"] == "'=1+1\\u202e"
