"""What a run is held against: found by name, moved only by a person, never by half."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit.contracts import EvalRecord, Manifest
from evalkit.errors import BadData, Incomplete, NoInput, UsageError
from evalkit.reading import encode
from evalkit.report.baseline import accept, load, previous, resolve
from evalkit.report.snapshot import Snapshot

MakeRun = Callable[..., Snapshot]

START = datetime(2026, 8, 26, tzinfo=UTC)


def on_file(runs: Path, run_id: str, *, hours: int = 0, **fields: Any) -> Path:
    """A run of two samples with its manifest."""
    rows = [
        EvalRecord(sample_id=f"q{i}", query="能退吗？", intent_l2="S14", intent_pred="S14") for i in range(2)
    ]
    path = runs / f"{run_id}.jsonl"
    path.write_bytes(b"".join(map(encode, rows)))
    known: dict[str, Any] = {
        "run_id": run_id,
        "state": "complete",
        "eval_set": "cases.jsonl",
        "eval_set_sha256": "ab" * 32,
        "target": "shop",
        "evalkit_version": "0.1.0",
        "started_at": START + timedelta(hours=hours),
        "planned": 2,
    }
    manifest = Manifest(**known | fields)
    (runs / f"{run_id}.meta.json").write_text(manifest.model_dump_json(), encoding="utf-8")
    return path


def test_an_accepted_run_reads_back_equal(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run([1, 0, None], run_id="nightly")
    path = accept(run, "shop", folder=tmp_path / "baselines")
    assert path == tmp_path / "baselines" / "shop.json"
    again = load(path)
    pd.testing.assert_frame_equal(run.samples, again.samples)
    assert (again.run_id, again.metrics) == ("nightly", run.metrics)


def test_accepting_again_moves_only_what_changed(make_run: MakeRun, tmp_path: Path) -> None:
    first = accept(make_run([1, 0, 1]), "shop", folder=tmp_path).read_text(encoding="utf-8").splitlines()
    second = accept(make_run([1, 1, 1]), "shop", folder=tmp_path).read_text(encoding="utf-8").splitlines()
    changed = [(one, two) for one, two in zip(first, second, strict=True) if one != two]
    assert len(changed) == 1
    assert '"q00001"' in changed[0][0]
    assert [path.name for path in tmp_path.iterdir()] == ["shop.json"]


def test_an_incomplete_run_is_no_baseline(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(Incomplete, match="found 1 of 9 samples") as error:
        accept(make_run([1], complete=False, planned=9), "shop", folder=tmp_path)
    assert error.value.exit_code == 3
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["../shop", "a/b", "", "latest", ".shop", "商店"])
def test_a_baseline_stays_in_its_folder(make_run: MakeRun, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError):
        accept(make_run([1]), name, folder=tmp_path)


def test_a_runs_records_are_scored_by_every_metric(tmp_path: Path) -> None:
    found = load(on_file(tmp_path, "one"))
    assert (found.run_id, found.complete, found.target) == ("one", True, "shop")
    assert found.samples["intent_top1"].tolist() == [1, 1]
    assert {"recall@5", "ttft_ms", "completion"} <= set(found.metrics)


def test_a_baseline_that_is_missing_or_broken_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match=r"shop\.json: found no such baseline"):
        load(tmp_path / "shop.json")
    (tmp_path / "shop.json").write_text(json.dumps({"format": "something"}), encoding="utf-8")
    with pytest.raises(BadData, match=r"shop\.json:1: format"):
        load(tmp_path / "shop.json")


def test_latest_is_the_complete_run_before_of_the_same_set_and_target(tmp_path: Path) -> None:
    on_file(tmp_path, "old", hours=-9)
    wanted = on_file(tmp_path, "wanted", hours=-5)
    on_file(tmp_path, "other-set", hours=-4, eval_set_sha256="cd" * 32)
    on_file(tmp_path, "other-target", hours=-3, target="old shop")
    on_file(tmp_path, "interrupted", hours=-2, state="interrupted")
    on_file(tmp_path, "replay", hours=-1, settings={"replay_of": "old"})
    on_file(tmp_path, "later", hours=1)
    run = on_file(tmp_path, "this")
    assert previous(run, tmp_path) == wanted
    assert resolve("latest", run=run, runs_dir=tmp_path) == wanted


def test_the_first_run_of_a_set_has_none_before_it(tmp_path: Path) -> None:
    assert previous(on_file(tmp_path, "first"), tmp_path) is None


def test_a_run_without_a_manifest_has_none_before_it(tmp_path: Path) -> None:
    on_file(tmp_path, "old", hours=-9)
    run = tmp_path / "bare.jsonl"
    run.write_bytes(b'{"sample_id": "q1"}\n')
    assert previous(run, tmp_path) is None


def test_a_name_is_a_path_a_baseline_or_a_run(make_run: MakeRun, tmp_path: Path) -> None:
    run, folder = on_file(tmp_path, "one"), tmp_path / "baselines"
    shop = accept(make_run([1]), "shop", folder=folder)
    known = {"run": run, "runs_dir": tmp_path, "folder": folder}
    assert resolve(str(shop), **known) == shop
    assert resolve("shop", **known) == shop
    assert resolve("one", **known) == run
    with pytest.raises(NoInput, match="'shopp'"):
        resolve("shopp", **known)
