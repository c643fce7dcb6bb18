"""A run scored part by part gives the files of one scored at once, to the byte."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalkit.contracts import EvalRecord, Judgement
from evalkit.engines.pool import reduced
from evalkit.engines.scored import scored
from evalkit.errors import UnknownName
from evalkit.judgements import Judged, content_of, judged_path
from evalkit.reading import Intake, encode
from evalkit.report.build import score_run
from evalkit.report.digest import Run, digest
from evalkit.report.streaming import streamed
from evalkit.report.wrong import confusion_pieces

BY = ("difficulty", "tags", "intent_l1,difficulty", "requires_rag")
ORDERLESS = ("slices.parquet", "confusions.parquet", "latency.parquet")


def written(path: Path, records: Sequence[EvalRecord]) -> Path:
    path.write_bytes(b"".join(map(encode, records)))
    return path


def at_once(path: Path, folder: Path, by: Sequence[str]) -> dict[str, bytes]:
    score_run(digest(Run(*scored(path)), by=by), folder)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps({**summary, "fix_first": None}))
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def in_parts(path: Path, folder: Path, by: Sequence[str], rows: int, workers: int = 1) -> dict[str, bytes]:
    with streamed(path, by=by, rows=rows, reduced=partial(reduced, workers=workers)) as found:
        assert found is not None
        score_run(found, folder)
    summary = json.loads((folder / "summary.json").read_text())
    (folder / "summary.json").write_text(json.dumps(summary))
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


@pytest.fixture
def run(rich_run: list[EvalRecord], tmp_path: Path) -> Path:
    """A run with everything: repeats far apart, samples asked again, rules, judgements of some samples."""
    ruled = [
        EvalRecord.model_validate(
            {
                "sample_id": f"r{number}",
                "response": "好的 退货",
                "rules": [{"type": "keyword_match", "keywords": ["退货", "x"][: number % 2 + 1]}],
            }
        )
        for number in range(8)
    ]
    again = [record.model_copy(update={"repeat": 3}) for record in rich_run[::9]]
    path = written(tmp_path / "run.jsonl", [*rich_run, *ruled, *again, *rich_run[5:20:4]])
    said = [
        Judged(
            sample=record.key,
            metric=name,
            judge=judge,
            content=content_of(record),
            judgement=Judgement(score=score, judge=judge),
        )
        for number, record in enumerate([*rich_run[30:60], *rich_run[95:]])
        for name, judge, score in (
            [("zeta", "m1", 0.25)]
            if number < 5
            else [("alpha", "m2", number % 3 / 2), ("safety", "m0", 1.0 if number < 20 else 0.5)]
        )
    ]
    judged_path(path).write_bytes(b"".join(map(encode, said)))
    return path


@pytest.mark.parametrize("rows", [7, 50, 10_000])
def test_repeats_judgements_and_rules_come_to_the_same_bytes(run: Path, tmp_path: Path, rows: int) -> None:
    wanted = at_once(run, tmp_path / "once", BY)
    assert in_parts(run, tmp_path / "parts", BY, rows) == wanted


@pytest.mark.parametrize("rows", [13, 40])
def test_cases_that_stand_once_come_to_the_same_bytes(
    rich_run: list[EvalRecord], tmp_path: Path, rows: int
) -> None:
    once = {record.sample_id: record for record in rich_run}
    path = written(tmp_path / "run.jsonl", list(once.values()))
    wanted = at_once(path, tmp_path / "once", ())
    assert in_parts(path, tmp_path / "parts", (), rows) == wanted


@pytest.mark.parametrize("keys", [1, 5, 1_000])
def test_error_directions_have_their_samples_in_any_lots(run: Path, tmp_path: Path, keys: int) -> None:
    at_once(run, tmp_path, ())
    with streamed(run, rows=30) as found:
        assert found is not None
        pieces = [*confusion_pieces(found.merged, found.scratch, run_id=found.run.run_id, at_once=keys)]
    assert pa.concat_tables(pieces).equals(pq.read_table(tmp_path / "confusions.parquet"))
    assert len(pieces) > 2 or keys == 1_000


def test_a_field_that_only_some_parts_have_can_be_sliced_by(tmp_path: Path) -> None:
    rows = [EvalRecord(sample_id=f"c{n}", intent_l2="A", intent_pred="A") for n in range(6)]
    rows[4] = EvalRecord.model_validate({"sample_id": "c4", "shop": "north"})
    path = written(tmp_path / "run.jsonl", rows)
    wanted = at_once(path, tmp_path / "once", ("shop",))
    assert in_parts(path, tmp_path / "parts", ("shop",), 2) == wanted
    with pytest.raises(UnknownName, match="shoe"), streamed(path, by=("shoe",), rows=2):
        pass


def task(number: int, *, known: bool = True) -> EvalRecord:
    """A task that was done; where it is not known, nobody knows what was understood."""
    done = {"rule": "mine", "passed": True, "score": 1.0, "scope": "last_turn", "layer": "completion"}
    told = {"intent_l2": "A", "intent_pred": "A", "verdicts": [done]}
    status = "ok" if known else "error"
    return EvalRecord.model_validate({"sample_id": f"t{number}", "evidence_status": status, **told})


@pytest.mark.parametrize(
    "undecided",
    [(), (0,), (5,), (2, 3), range(9)],
    ids=["none", "in the first part", "in a middle part", "in two parts", "everywhere"],
)
def test_bounds_stand_where_any_part_has_an_undecided_task(tmp_path: Path, undecided: Sequence[int]) -> None:
    rows = [task(number, known=number not in undecided) for number in range(9)]
    rows[7] = EvalRecord(sample_id="t7", rules_passed=True)
    path = written(tmp_path / "run.jsonl", rows)
    wanted = at_once(path, tmp_path / "once", ())
    assert in_parts(path, tmp_path / "parts", (), 3) == wanted
    found = pq.read_table(tmp_path / "parts" / "samples.parquet")
    assert ("success_rate_worst" in found.column_names) == bool([*undecided])
    assert found["success_level"].to_pylist()[0] == (None if 0 in undecided else "success")
    assert found["success_most"].to_pylist()[0] == "success"


def test_latencies_from_the_schedule_stand_where_any_part_had_one(tmp_path: Path) -> None:
    told = {"total_ms": 20.0, "ttft_ms": 10.0, "answer_timings": {"queue_ms": 5.0, "connect_ms": 1.0}}
    rows = [EvalRecord.model_validate({"sample_id": f"c{n}", **told}) for n in range(6)]
    path = written(tmp_path / "run.jsonl", rows)
    assert in_parts(path, tmp_path / "never", (), 2) == at_once(path, tmp_path / "never_at_once", ())
    due = {"sample_id": "c3", "scheduled_at": "2026-11-30T00:00:00Z", **told}
    rows[3] = EvalRecord.model_validate(due)
    path = written(path, rows)
    wanted = at_once(path, tmp_path / "once", ())
    assert in_parts(path, tmp_path / "parts", (), 2) == wanted
    names = pq.read_table(tmp_path / "parts" / "latency.parquet")["name"].to_pylist()
    assert names[-2:] == ["ttft_from_schedule_ms", "total_from_schedule_ms"]


def test_what_cannot_stay_on_file_is_not_streamed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"sample_id":"a","query":"\\ud800"}\n')
    with streamed(path, intake=Intake()) as found:
        assert found is None


def test_workers_change_no_bit(run: Path, tmp_path: Path) -> None:
    wanted = in_parts(run, tmp_path / "one", BY, 40)
    for workers, rows in ((2, 40), (8, 30)):
        assert in_parts(run, tmp_path / f"{workers}", BY, rows, workers) == wanted


def test_the_order_of_the_lines_changes_no_mean_and_no_interval(
    rich_run: list[EvalRecord], tmp_path: Path
) -> None:
    once = list({record.sample_id: record for record in rich_run}.values())
    path = written(tmp_path / "run.jsonl", once)
    wanted = in_parts(path, tmp_path / "in_order", BY, 11)
    random.Random(7).shuffle(once)  # noqa: S311 - test data
    found = in_parts(written(path, once), tmp_path / "shuffled", BY, 17)
    assert found["samples.parquet"] != wanted["samples.parquet"]
    assert {name: found[name] for name in ORDERLESS} == {name: wanted[name] for name in ORDERLESS}
