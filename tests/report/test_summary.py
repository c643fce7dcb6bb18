"""The summary is the tables in short, and the notes say what to know before believing it."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from evalkit.contracts import EvalRecord, Manifest
from evalkit.records import Records
from evalkit.report.digest import Run, digest
from evalkit.report.notes import notes
from evalkit.report.summary import facts, state, summary


def test_summary_says_what_the_tables_say(make_digest, rich_run: list[EvalRecord]) -> None:
    found = make_digest(rich_run)
    told = summary(found, files=["b", "a"])
    rows = [row for row in found.tables.slices.to_pylist() if row["dimension"] == "overall"]
    assert [row["metric"] for row in told["metrics"]] == [row["metric"] for row in rows]
    for shown, row in zip(told["metrics"], rows, strict=True):
        assert shown.items() <= row.items()
    assert told["latency"][0].items() <= found.tables.latency.to_pylist()[0].items()
    assert told["run"]["n_samples"] == len(rich_run)
    assert told["failures"]["n_failed"] == len(found.failures.failed)
    assert told["channels"]["answer"]["statuses"] == Counter(record.answer_status for record in rich_run)
    assert told["files"] == ["a", "b"]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_ten_questions(make_digest, ten_questions: list[EvalRecord]) -> None:
    told = summary(make_digest(ten_questions), files=[])
    assert told["metrics"][0]["mean"] == 0.8
    assert [(row["intent_l2"], row["mean"]) for row in told["worst_intents"]] == [("S3", 0.5), ("S14", 2 / 3)]
    assert told["worst_intents"][1]["direction"] == {"predicted": "S15", "n": 1, "errors": 1}
    assert told["failures"]["by_gate"]["intent"] == 2
    assert told["macro"]["mean"] == pytest.approx((0.5 + 2 / 3 + 3) / 5)
    assert told["macro"]["n_slices"] == 5


def test_without_a_manifest_its_facts_are_null(ten_questions: list[EvalRecord]) -> None:
    found = digest(Run("theirs", Records.of(ten_questions), []))
    told = summary(found, files=[])
    assert told["run"]["eval_set_sha256"] is told["run"]["target"] is None
    assert state(found.run, 10) == "no manifest"
    assert facts(found.run) == [("state", "no manifest"), ("samples", "10")]


@pytest.mark.parametrize(
    ("how", "told"),
    [("complete", "complete"), ("running", "in progress, 1 of 10"), ("interrupted", "interrupted, 1 of 10")],
)
def test_state(manifest: Manifest, how: str, told: str) -> None:
    run = Run("r", Records.of([EvalRecord(sample_id="1")]), [], manifest.model_copy(update={"state": how}))
    assert state(run, 1) == told


def test_facts_of_the_manifest_in_order(manifest: Manifest) -> None:
    run = Run("r", Records.of([EvalRecord(sample_id="1")]), [], manifest)
    assert facts(run) == [
        ("state", "complete"),
        ("samples", "1"),
        ("target", "demo"),
        ("eval set", "eval_sets/eval_set_v1.jsonl"),
        ("eval set sha256", "0123456789ab"),
        ("started", "2026-08-26 10:00:00 UTC"),
        ("took", "60.0 s"),
        ("base_url", "http://127.0.0.1:9090"),
        ("evalkit", "0.1.0"),
    ]


LABELLED = {"intent_l2": "A", "intent_pred": "A"}


@pytest.mark.parametrize(
    ("fields", "how", "note"),
    [
        (LABELLED, "interrupted", "The run is not complete: 1 of 10 samples are there."),
        (
            {},
            "complete",
            "1 sample with nothing to be held against, or with undecided rules: neither passed nor failed.",
        ),
        (
            {"intent_l2": "S14", "intent_pred": "Ｓ14"},
            "complete",
            "Labels that look the same but are not, counted as wrong: S14 / Ｓ14 (1).",
        ),
        (
            {"intent_l1": "X", "intent_l2": "A", "intent_pred": "Z"},
            "complete",
            "Predicted labels whose first level is unknown, counted as wrong there: Z (1).",
        ),
    ],
    ids=["interrupted", "unjudged", "near miss", "unknown parent"],
)
def test_notes(make_digest, manifest: Manifest, fields: dict[str, object], how: str, note: str) -> None:
    record = EvalRecord.model_validate({"sample_id": "1"} | fields)
    found = make_digest([record], manifest=manifest.model_copy(update={"state": how}))
    assert notes(found) == [note]


def test_a_clean_run_needs_no_note(make_digest) -> None:
    assert notes(make_digest([EvalRecord.model_validate({"sample_id": "1"} | LABELLED)])) == []


def test_what_the_file_had_beside_good_records_is_told(manifest: Manifest) -> None:
    records = Records([EvalRecord(sample_id="1", intent_l2="A", intent_pred="A")], superseded=3, torn=1)
    told = notes(digest(Run("r", records, [], manifest)))
    assert "3 older records of the same samples were left out." in told
    assert "1 torn line at the end of the file was left out." in told


def test_no_manifest_is_told(ten_questions: list[EvalRecord]) -> None:
    told = notes(digest(Run("r", Records.of(ten_questions), [])))
    assert told[0].startswith("There is no manifest beside this run")
