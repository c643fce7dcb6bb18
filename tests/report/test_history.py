"""History: lines of runs that may be joined, breaks that chance does not explain, and no stale numbers."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalkit import runs
from evalkit.contracts import EvalRecord, Manifest
from evalkit.engines.scored import scored
from evalkit.errors import NoInput
from evalkit.report import moments as moments_module
from evalkit.report.build import score_run
from evalkit.report.digest import Run, digest
from evalkit.report.history import Point, tracks
from evalkit.report.history_text import sparkline
from evalkit.report.moments import moments
from evalkit.stats import mcnemar

START = datetime(2026, 8, 1, 9, tzinfo=UTC)
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A run on file: 40 cases of two intents, the first `wrong` of intent A taken for B."""

    def make(
        number: int, wrong: Sequence[int], *, sha: str = "a" * 64, target: str = "demo", n: int = 40
    ) -> Path:
        place = tmp_path / "runs"
        place.mkdir(exist_ok=True)
        lines = [
            EvalRecord(
                sample_id=f"q{row}",
                query=f"问题{row}",
                intent_l1="X",
                intent_l2="A" if row % 2 == 0 else "B",
                intent_pred=("B" if row in wrong else "A") if row % 2 == 0 else "B",
            ).model_dump_json()
            for row in range(n)
        ]
        path = place / f"run-{number}.jsonl"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        manifest = Manifest(
            run_id=f"run-{number}",
            state="complete",
            eval_set="set.jsonl",
            eval_set_sha256=sha,
            target=target,
            evalkit_version="0.1.0",
            started_at=START + timedelta(days=number),
            planned=n,
        )
        runs.save(manifest, runs.files(f"run-{number}", place).manifest)
        return path

    return make


def found(tmp_path: Path, *, by: Sequence[str] = ("intent_l2",), metrics: Sequence[str] = ("intent_top1",)):
    return tracks(moments(tmp_path / "runs", tmp_path / "reports", last=30), metrics=metrics, by=by)


def evens(n: int) -> range:
    return range(0, 2 * n, 2)


def test_a_break_is_found_where_it_is(write: Write, tmp_path: Path) -> None:
    """Twelve cases of A fall at the fourth run; Holm over the steps and drifts that could decide."""
    for number, wrong in enumerate([1, 1, 1, 13, 13]):
        write(number, evens(wrong))
    (track,) = found(tmp_path)
    overall, slice_a, slice_b = track.series
    assert [point.mean for point in overall.points] == [39 / 40] * 3 + [27 / 40] * 2
    (broken,) = overall.breaks
    assert (broken.earlier, broken.later, broken.worse, broken.better) == ("run-2", "run-3", 12, 0)
    assert broken.p == mcnemar(12, 0)
    assert broken.p_holm == pytest.approx(4 * mcnemar(12, 0))
    assert slice_a.breaks[0].later == "run-3"
    assert slice_b.breaks == ()
    assert slice_b.points[0].n_total == 20


def test_slow_drift_is_found_from_first_to_last(write: Write, tmp_path: Path) -> None:
    """Two more wrong each time: no step decides, all eight together do."""
    for number in range(5):
        write(number, evens(2 * number))
    (track,) = found(tmp_path, by=())
    (overall,) = track.series
    assert overall.breaks == ()
    assert overall.drift is not None
    assert (overall.drift.worse, overall.drift.proven) == (8, True)


def test_noise_is_no_break(write: Write, tmp_path: Path) -> None:
    """Fifteen histories of six runs that differ by chance alone: five in a hundred may show a break."""
    chance = random.Random(1)  # noqa: S311
    alarms = 0
    for _ in range(15):
        for number in range(6):
            write(number, [row for row in range(0, 40, 2) if chance.random() < 0.3])
        alarms += any(each.breaks for track in found(tmp_path, by=()) for each in track.series)
    assert alarms <= 2


def test_only_runs_of_one_target_on_one_set_make_a_line(write: Write, tmp_path: Path) -> None:
    write(0, [])
    write(1, [0], sha="b" * 64)
    write(2, [0], target="other")
    write(3, [0])
    newest, *others = found(tmp_path, by=())
    assert [run for run, _, _ in newest.runs] == ["run-0", "run-3"]
    assert [[run for run, _, _ in track.runs] for track in others] == [["run-2"], ["run-1"]]


def test_a_run_with_fewer_cases_is_held_against_what_is_common(write: Write, tmp_path: Path) -> None:
    write(0, [])
    write(1, [0], n=10)
    (track,) = found(tmp_path, by=())
    (step,) = track.series[0].steps
    assert (step.n_cases, step.worse) == (10, 1)


def test_one_run_is_a_point(write: Write, tmp_path: Path) -> None:
    write(0, [0])
    (track,) = found(tmp_path, by=())
    (only,) = track.series
    assert (only.steps, only.drift, only.points[0].mean) == ((), None, 39 / 40)


def test_no_run_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    with pytest.raises(NoInput, match="evalkit run"):
        found(tmp_path)


def reported(path: Path, tmp_path: Path) -> Path:
    run = scored(path)
    folder = tmp_path / "reports" / run.run_id
    folder.mkdir(parents=True)
    score_run(digest(Run(*run)), folder)
    return folder


def test_tables_stand_for_a_run_only_while_they_hold(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier run with good tables is not scored; one whose records are newer, or whose tables are torn, is."""
    first = write(0, [0])
    write(1, [0])
    folder = reported(first, tmp_path)
    told: list[str] = []
    monkeypatch.setattr(moments_module, "scored", lambda path: told.append(path.stem) or scored(path))
    assert found(tmp_path, by=())[0].series[0].points[0].mean == 39 / 40
    assert told == ["run-1"]
    write(0, [0, 2])
    later = (folder / "samples.parquet").stat().st_mtime + 5
    os.utime(first, (later, later))
    assert found(tmp_path, by=())[0].series[0].points[0].mean == 38 / 40
    assert told == ["run-1", "run-1", "run-0"]
    os.utime(first, (0, 0))
    (folder / "slices.parquet").write_bytes(b"PAR1 torn")
    assert found(tmp_path, by=())[0].series[0].points[0].mean == 38 / 40


def test_tables_with_scores_set_by_hand_do_not_stand_for_a_run(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = write(0, [0])
    write(1, [0])
    summary = reported(first, tmp_path) / "summary.json"
    told = json.loads(summary.read_text(encoding="utf-8"))
    summary.write_text(json.dumps(told | {"overridden": {"intent_top1": 1}}), encoding="utf-8")
    made: list[str] = []
    monkeypatch.setattr(moments_module, "scored", lambda path: made.append(path.stem) or scored(path))
    moments(tmp_path / "runs", tmp_path / "reports", last=5)
    assert sorted(made) == ["run-0", "run-1"]


def points(*means: float | None) -> list[Point]:
    return [Point(str(n), mean, 1, 1) for n, mean in enumerate(means)]


@pytest.mark.parametrize(
    ("means", "drawn"),
    [
        ([0.0, 0.5, 1.0], "▁▅█"),
        ([0.8, None, 0.9], "▁·█"),
        ([0.5, 0.5], "▅▅"),
        ([None], "·"),
        ([], ""),
    ],
    ids=["rising", "a gap", "level", "nothing", "no run"],
)
def test_a_line_in_eight_heights(means: list[float | None], drawn: str) -> None:
    assert sparkline(points(*means)) == drawn
