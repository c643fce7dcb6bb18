"""A snapshot holds what a comparison needs, and its JSON gives it back whole."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord, Manifest, MetricResult
from evalkit.errors import BadData, UsageError
from evalkit.records import Records
from evalkit.report.snapshot import TEXTS, Snapshot, from_json, snapshot, to_json
from evalkit.slices import slice_mean

SHA = "0123456789abcdef" * 4


def manifest(**fields: Any) -> Manifest:
    known: dict[str, Any] = {
        "run_id": "nightly",
        "state": "complete",
        "eval_set": "cases.jsonl",
        "eval_set_sha256": SHA,
        "target": "shop",
        "evalkit_version": "0.1.0",
        "started_at": datetime(2026, 8, 26, tzinfo=UTC),
        "planned": 2,
    }
    return Manifest(**known | fields)


def record(sample_id: str = "q1", **fields: Any) -> EvalRecord:
    known = {"query": "耳机能退吗？", "intent_l2": "S14", "intent_pred": "S14", "response": "可以。"}
    return EvalRecord(sample_id=sample_id, **known | fields)


def top1(records: Records) -> MetricResult:
    def right(row: EvalRecord) -> float | None:
        return None if row.intent_l2 is None else float(row.intent_l2 == row.intent_pred)

    return MetricResult("intent_top1", *slice_mean(records, right), is_pct=True, is_rate=True)


def taken(*rows: EvalRecord, **fields: Any) -> Snapshot:
    records = Records.of(list(rows))
    return snapshot(records, [top1(records)], manifest(**fields))


def same(one: Snapshot, other: Snapshot) -> bool:
    pd.testing.assert_frame_equal(one.samples, other.samples)
    facts = ("run_id", "complete", "eval_set_sha256", "planned", "target", "metrics")
    return all(getattr(one, name) == getattr(other, name) for name in facts)


def test_samples_have_texts_then_scores_with_nan_for_not_counted() -> None:
    seen = taken(record("b"), record("a", intent_l2=None))
    assert [*seen.samples.columns] == [*TEXTS, "intent_top1"]
    assert [*seen.samples.index] == ["a", "b"]
    assert np.isnan(seen.samples.loc["a", "intent_top1"])
    assert seen.samples.loc["b", "intent_top1"] == 1.0
    assert seen.samples["intent_top1"].dtype == np.float64
    assert seen.metrics["intent_top1"].signature == f"intent_top1|v1|set:{SHA[:12]}"


@pytest.mark.parametrize(
    ("fields", "complete"),
    [
        pytest.param({}, True, id="ended with all samples"),
        pytest.param({"state": "running"}, False, id="still running"),
        pytest.param({"state": "interrupted"}, False, id="interrupted"),
        pytest.param({"planned": 3}, False, id="one sample short"),
    ],
)
def test_a_run_is_complete_only_with_all_it_planned(fields: dict[str, Any], *, complete: bool) -> None:
    assert taken(record("a"), record("b"), **fields).complete is complete


def test_without_a_manifest_nothing_is_known_of_completeness_or_eval_set() -> None:
    records = Records.of([record()])
    seen = snapshot(records, [top1(records)], None)
    assert (seen.complete, seen.eval_set_sha256) == (False, "")
    assert "set:?" in seen.metrics["intent_top1"].signature


def test_the_content_hash_is_of_the_case_alone() -> None:
    """Neither what was observed nor the id counts; every word of the case does, and defaults do not."""
    plain = taken(record()).samples["case_sha"].iloc[0]
    same_case = [record("other"), record(response="不行。"), record(repeat=1), record(tags=[])]
    changed = [record(query="耳机能退吗"), record(intent_l2="S3"), record(reference="七天内可以退。")]
    assert {taken(row).samples["case_sha"].iloc[0] for row in same_case} == {plain}
    assert plain not in {taken(row).samples["case_sha"].iloc[0] for row in changed}


def test_two_samples_with_one_key_are_refused() -> None:
    with pytest.raises(UsageError, match="sample: found q1 twice"):
        taken(record(), record())


def test_a_metric_that_is_called_like_a_column_is_refused() -> None:
    records = Records.of([record()])
    result = MetricResult("query", *slice_mean(records, lambda _: 1.0))
    with pytest.raises(UsageError, match="metric: found query twice"):
        snapshot(records, [result], None)


def test_json_is_one_line_a_sample_in_the_order_of_the_keys() -> None:
    """Whatever the order of the records, so that two baselines differ where their samples do."""
    rows = [record(f"q{i}") for i in range(5)]
    written = to_json(taken(*rows))
    assert written == to_json(taken(*reversed(rows)))
    lines = written.decode("utf-8").splitlines()
    keys = [json.loads(line.rstrip(","))["key"] for line in lines if '"key"' in line]
    assert keys == ["q0", "q1", "q2", "q3", "q4"]
    other = to_json(taken(*rows[:4], record("q4", response="不行。"))).decode("utf-8").splitlines()
    assert sum(one != two for one, two in zip(lines, other, strict=True)) == 1


pairs_of_halves = re.compile("[\ud800-\udbff][\udc00-\udfff]")
"""Two halves side by side are one character to every reader of JSON; no line of a run has them apart."""

texts = st.none() | st.text(st.characters(codec=None), max_size=8).filter(
    lambda text: not pairs_of_halves.search(text)
)


@given(
    st.lists(
        st.tuples(texts, texts, st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=6,
    )
)
def test_json_gives_back_any_snapshot(rows: list[tuple[str | None, str | None, float | None]]) -> None:
    """Line separators, control characters, halves of surrogate pairs and numbers to the last bit."""
    records = Records.of(
        [record(f"q{i}", response=said, intent_pred=label) for i, (said, label, _) in enumerate(rows)]
    )
    scores = {f"q{i}": score for i, (_, _, score) in enumerate(rows)}
    result = MetricResult("m", None, {}, {}, scores)
    before = snapshot(records, [result], manifest())
    written = to_json(before)
    after = from_json(written)
    assert same(before, after)
    assert to_json(after) == written
    assert written.count(b"\n") == len(written.decode("utf-8").splitlines())


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        pytest.param(b"{", "JSON", id="torn"),
        pytest.param(b"[]", "array", id="no object"),
        pytest.param(b'{"format": "x"}', "'x'", id="another format"),
        pytest.param(b'{"format": "evalkit-baseline/1"}', "metrics", id="no metrics"),
        pytest.param(to_json(taken(record())).replace(b"[1]", b'["1"]'), "'1'", id="text score"),
        pytest.param(to_json(taken(record())).replace(b"[1]", b"[true]"), "True", id="flag"),
        pytest.param(
            to_json(taken(record())).replace(b"[1]", b"[1, 1]"), "wanted 1", id="two scores of one metric"
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_named(raw: bytes, found: str) -> None:
    with pytest.raises(BadData, match=r"shop\.json:1:(2:)? .*wanted") as error:
        from_json(raw, path="shop.json")
    assert found in str(error.value)
