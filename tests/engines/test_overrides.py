"""Scores set by hand replace the measured ones, are counted, and cannot be misread in silence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit import EvalRecord
from evalkit.cli import commands
from evalkit.engines.local import local
from evalkit.engines.overrides import overridden, read_manual
from evalkit.errors import BadData, NoInput, UnknownName
from evalkit.records import Records

RECORDS = Records.of(
    [
        EvalRecord(sample_id="a", intent_l2="S1", intent_pred="S1"),
        EvalRecord(sample_id="b", intent_l2="S1", intent_pred="S2"),
        EvalRecord(sample_id="b", repeat=1, intent_l2="S2", intent_pred="S1"),
        EvalRecord(sample_id="=c", intent_l2="S2", intent_pred="S2"),
    ]
)


def table(folder: Path, *rows: str) -> Path:
    path = folder / "per_sample.csv"
    path.write_text("\ufeff" + "\r\n".join(rows) + "\r\n", encoding="utf-8")
    return path


def test_filled_cells_are_read_by_metric_and_sample(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        "sample_id,repeat,intent_top1,intent_top1_manual,faithfulness_manual,notes",
        "a,0,1,,0.5,好",
        "b,1,0,true,,",
        "'=c,0,1,null,,",
    )
    assert read_manual(path) == {"intent_top1": {"b#1": 1.0, "=c": None}, "faithfulness": {"a": 0.5}}


def test_means_and_slices_follow_the_scores_set_by_hand() -> None:
    results, counts = overridden(RECORDS, local(RECORDS), {"intent_top1": {"b": 1.0, "=c": None}})
    top1 = next(result for result in results if result.name == "intent_top1")
    assert top1.overall is not None
    assert (top1.overall, top1.overall.n_counted, top1.overall.n_total) == (pytest.approx(2 / 3), 3, 4)
    assert top1.by_intent_l2["S1"] == 1.0
    assert top1.per_sample == {"a": 1.0, "b": 1.0, "b#1": 0.0, "=c": None}
    assert counts == {"intent_top1": 2}
    assert top1.is_rate


def test_a_share_set_by_hand_makes_a_rate_a_mean() -> None:
    results, _ = overridden(RECORDS, local(RECORDS), {"intent_top1": {"b": 0.5}})
    assert not next(result for result in results if result.name == "intent_top1").is_rate


def test_nothing_set_changes_nothing() -> None:
    measured = local(RECORDS)
    assert overridden(RECORDS, measured, {}) == (measured, {})


@pytest.mark.parametrize("cell", ["yes", "8/10", "NaN", "inf", "0,5"])
def test_a_cell_that_is_no_score_is_named(cell: str, tmp_path: Path) -> None:
    path = table(tmp_path, "sample_id,intent_top1_manual", f'a,"{cell}"')
    with pytest.raises(BadData, match=r"per_sample\.csv:2: intent_top1_manual: .* wanted a number"):
        read_manual(path)


def test_unknown_metrics_and_samples_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown metric 'intent_top2'"):
        overridden(RECORDS, local(RECORDS), {"intent_top2": {"a": 1.0}})
    with pytest.raises(UnknownName, match="unknown sample 'x'"):
        overridden(RECORDS, local(RECORDS), {"intent_top1": {"x": 1.0}})
    with pytest.raises(NoInput):
        read_manual(tmp_path / "none.csv")
    with pytest.raises(BadData, match="no column sample_id"):
        read_manual(table(tmp_path, "id,intent_top1_manual"))


def test_the_summary_states_how_many_were_overridden(tmp_path: Path) -> None:
    """A column added to the report's own CSV, read back by `score`."""
    run = tmp_path / "runs" / "nightly.jsonl"
    run.parent.mkdir()
    lines = [json.dumps({"sample_id": name, "intent_l2": "S1", "intent_pred": "S2"}) for name in "ab"]
    run.write_text("\n".join(lines) + "\n", encoding="utf-8")
    places = ["--runs-dir", str(run.parent), "--reports-dir", str(tmp_path / "reports")]
    reported = CliRunner().invoke(commands, ["report", "latest", *places])
    assert reported.exit_code == 0, reported.output
    csv = tmp_path / "reports" / "nightly" / "per_sample.csv"
    head, *rows = csv.read_text(encoding="utf-8-sig").splitlines()
    first, second = (f"{row},{cell}" for row, cell in zip(rows, ("1", ""), strict=True))
    csv.write_text("\n".join([f"{head},intent_top1_manual", first, second]), encoding="utf-8")
    result = CliRunner().invoke(commands, ["score", "latest", "--json", "--manual", str(csv), *places])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["overridden"] == {"intent_top1": 1}
    assert {row["metric"]: row["mean"] for row in summary["metrics"]}["intent_top1"] == 0.5
