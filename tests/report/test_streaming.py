"""A run scored part by part gives the files of one scored at once, to the byte."""

from __future__ import annotations

import gzip
import io
import json
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from evalkit.contracts import EvalRecord, Judgement
from evalkit.engines.pool import reduced
from evalkit.engines.scored import scored
from evalkit.errors import UnknownName
from evalkit.judgements import Judged, content_of, judged_path
from evalkit.reading import Intake, encode
from evalkit.report.build import score_run
from evalkit.report.digest import Digest, Run, digest
from evalkit.report.streaming import streamed
from evalkit.report.terminal import summary_view
from evalkit.report.wrong import confusion_pieces

BY = ("difficulty", "tags", "intent_l1,difficulty", "requires_rag")
ORDERLESS = ("slices.parquet", "confusions.parquet", "latency.parquet")


def written(path: Path, records: Sequence[EvalRecord]) -> Path:
    path.write_bytes(b"".join(map(encode, records)))
    return path


def files(found: Digest, folder: Path) -> dict[str, bytes]:
    """What is written of a run, and what a terminal shows."""
    put = score_run(found, folder).files
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(summary_view(found, files={}))
    return {name: path.read_bytes() for name, path in put.items()} | {"": console.export_text().encode()}


def at_once(path: Path, folder: Path, by: Sequence[str] = (), **asked: Any) -> dict[str, bytes]:
    cluster, manual = asked.get("cluster"), asked.get("manual")
    return files(digest(Run(*scored(path, manual=manual)), by=by, cluster=cluster), folder)


def in_parts(
    path: Path, folder: Path, by: Sequence[str] = (), *, rows: int, workers: int = 1, **asked: Any
) -> dict[str, bytes]:
    measured = partial(reduced, workers=workers)
    with streamed(path, by=by, rows=rows, reduced=measured, **asked) as found:
        assert found is not None
        return files(found, folder)


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
    assert in_parts(run, tmp_path / "parts", BY, rows=rows) == wanted


@pytest.mark.parametrize("rows", [13, 40])
def test_cases_that_stand_once_come_to_the_same_bytes(
    rich_run: list[EvalRecord], tmp_path: Path, rows: int
) -> None:
    once = {record.sample_id: record for record in rich_run}
    path = written(tmp_path / "run.jsonl", list(once.values()))
    wanted = at_once(path, tmp_path / "once", ())
    assert in_parts(path, tmp_path / "parts", (), rows=rows) == wanted


@pytest.mark.parametrize("keys", [1, 5, 1_000])
def test_error_directions_have_their_samples_in_any_lots(run: Path, tmp_path: Path, keys: int) -> None:
    at_once(run, tmp_path, ())
    with streamed(run, rows=30) as found:
        assert found is not None
        pieces = [*confusion_pieces(found.merged, found.scratch, run_id=found.run.run_id, at_once=keys)]
    assert pa.concat_tables(pieces).equals(pq.read_table(tmp_path / "confusions.parquet"))
    assert len(pieces) > 2 or keys == 1_000


@pytest.mark.parametrize("cluster", ["tags", "reference_doc_ids", "dialog_id", "intent_l1,difficulty"])
def test_cases_are_drawn_together_over_parts(run: Path, tmp_path: Path, cluster: str) -> None:
    rows = [f'{line[:-1]}, "dialog_id": "d{n % 9}"}}' for n, line in enumerate(run.read_text().splitlines())]
    path = run.with_name("dialogs.jsonl")
    path.write_text("\n".join(rows) + "\n")
    wanted = at_once(path, tmp_path / "once", ("difficulty",), cluster=cluster)
    assert in_parts(path, tmp_path / "parts", ("difficulty",), rows=23, cluster=cluster) == wanted
    with pytest.raises(UnknownName, match="dialogue"), streamed(path, cluster="dialogue", rows=23):
        pass


def test_many_cases_that_share_nothing_are_drawn_by_themselves(tmp_path: Path) -> None:
    """Above 1,000 a mean has the normal interval, from sums where each case is drawn by itself."""
    chance = random.Random(7)  # noqa: S311 - test data
    rows = [
        EvalRecord.model_validate(
            {
                "sample_id": f"c{n}",
                "own": f"o{n}",
                "ttft_ms": chance.expovariate(0.01),
                "total_ms": chance.expovariate(0.001),
                "evidence_timings": {"end_ms": chance.random()},
                "answer_timings": {"first_event_ms": chance.lognormvariate(1, 2)},
            }
        )
        for n in range(1_100)
    ]
    path = written(tmp_path / "run.jsonl", rows)
    wanted = at_once(path, tmp_path / "once", cluster="own")
    assert in_parts(path, tmp_path / "parts", rows=300, cluster="own") == wanted
    assert at_once(path, tmp_path / "apart")["slices.parquet"] == wanted["slices.parquet"]


def test_scores_set_by_hand_stand_in_their_parts(run: Path, tmp_path: Path) -> None:
    manual = {
        "intent_top1": {"case-3": 1.0, "case-70": None, "case-2#1": 0.0},
        "recall@10": {"case-9": 0.5},
        "safety": {"case-15": 1.0},
        "hit@1": {},
    }
    wanted = at_once(run, tmp_path / "once", BY, manual=manual)
    assert in_parts(run, tmp_path / "parts", BY, rows=13, manual=manual) == wanted
    assert b'"recall@10": 1' in wanted["summary.json"]
    for odd in ({"hit@1": {"nobody": 1.0}}, {"hit@77": {"case-3": 1.0}}):
        with pytest.raises(UnknownName) as there:
            at_once(run, tmp_path / "odd", manual=odd)
        with pytest.raises(UnknownName) as here, streamed(run, rows=13, manual=odd):
            pass
        assert str(here.value) == str(there.value)


LABELS = st.sampled_from(["S1", "Ｓ１", "S1\u200b", "é", "e\u0301", "价格", "", None])
DOCUMENTS = st.lists(st.sampled_from(["D1", "D2", "Ｄ１", "d1"]), max_size=3)
TIMES = st.none() | st.sampled_from([0.0, 12.5, 80.25, 1e9])
TOOLS = st.none() | st.lists(
    st.fixed_dictionaries({"name": st.sampled_from(["a", "b"]), "arguments": st.just({"x": 1})}), max_size=2
)
ERRORS = st.sampled_from(
    [{"kind": "deadline.total", "message": ""}, {"kind": "http_status", "message": "五百"}]
)
RECORDS = st.fixed_dictionaries(
    {
        "sample_id": st.sampled_from(["a", "ａ", "b", "c", "c\u0301", "#", "a#1", "d", "e", "f", "g", "h"]),
        "repeat": st.sampled_from([0, 0, 0, 1, 2]),
    },
    optional={
        "query": st.sampled_from(["", "能退吗？", "能退吗", "line\nbreak"]),
        "intent_l1": st.sampled_from(["G", "Ｇ", "", None]),
        "intent_l2": LABELS,
        "intent_pred": LABELS,
        "intent_pred_all": st.lists(LABELS.filter(bool), max_size=2),
        "requires_rag": st.sampled_from([True, False, None]),
        "reference_doc_ids": DOCUMENTS,
        "retrieved_doc_ids": st.none() | DOCUMENTS,
        "tags": st.lists(st.sampled_from(["t", "ｔ", "u"]), max_size=2),
        "response": st.sampled_from(["", " ", "可以", None]),
        "ttft_ms": TIMES,
        "total_ms": TIMES,
        "answer_status": st.sampled_from(["ok", "error", "skipped"]),
        "answer_error": st.none() | ERRORS,
        "evidence_status": st.sampled_from(["ok", "error"]),
        "required_slots": st.lists(st.sampled_from([{"name": "p"}, {"name": "ｐ"}]), max_size=2),
        "filled_slots": st.none() | st.just({"p": "1"}),
        "expected_tools": TOOLS,
        "tool_calls": TOOLS,
        "rules": st.lists(st.just({"type": "keyword_match", "keywords": ["可以"]}), max_size=1),
        "shop": st.sampled_from(["north", "north ", None]),
    },
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    rows=st.lists(RECORDS, min_size=1, max_size=14),
    size=st.integers(1, 14),
    by=st.lists(st.sampled_from(["tags", "requires_rag", "intent_l1,tags"]), max_size=2, unique=True),
    cluster=st.none() | st.sampled_from(["tags", "reference_doc_ids"]),
)
def test_any_run_is_the_same_in_any_parts(
    rows: list[dict[str, Any]], size: int, by: list[str], cluster: str | None
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "run.jsonl"
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
        wanted = at_once(path, folder / "once", by, cluster=cluster)
        assert in_parts(path, folder / "parts", by, rows=size, cluster=cluster) == wanted


def test_a_field_that_only_some_parts_have_can_be_sliced_by(tmp_path: Path) -> None:
    rows = [EvalRecord(sample_id=f"c{n}", intent_l2="A", intent_pred="A") for n in range(6)]
    rows[4] = EvalRecord.model_validate({"sample_id": "c4", "shop": "north"})
    path = written(tmp_path / "run.jsonl", rows)
    wanted = at_once(path, tmp_path / "once", ("shop",))
    assert in_parts(path, tmp_path / "parts", ("shop",), rows=2) == wanted
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
    assert in_parts(path, tmp_path / "parts", (), rows=3) == wanted
    found = pq.read_table(tmp_path / "parts" / "samples.parquet")
    assert ("success_rate_worst" in found.column_names) == bool([*undecided])
    assert found["success_level"].to_pylist()[0] == (None if 0 in undecided else "success")
    assert found["success_most"].to_pylist()[0] == "success"


def test_latencies_from_the_schedule_stand_where_any_part_had_one(tmp_path: Path) -> None:
    told = {"total_ms": 20.0, "ttft_ms": 10.0, "answer_timings": {"queue_ms": 5.0, "connect_ms": 1.0}}
    rows = [EvalRecord.model_validate({"sample_id": f"c{n}", **told}) for n in range(6)]
    path = written(tmp_path / "run.jsonl", rows)
    assert in_parts(path, tmp_path / "never", (), rows=2) == at_once(path, tmp_path / "never_at_once", ())
    due = {"sample_id": "c3", "scheduled_at": "2026-11-30T00:00:00Z", **told}
    rows[3] = EvalRecord.model_validate(due)
    path = written(path, rows)
    wanted = at_once(path, tmp_path / "once", ())
    assert in_parts(path, tmp_path / "parts", (), rows=2) == wanted
    names = pq.read_table(tmp_path / "parts" / "latency.parquet")["name"].to_pylist()
    assert names[-2:] == ["ttft_from_schedule_ms", "total_from_schedule_ms"]


def test_what_cannot_stay_on_file_is_not_streamed(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"sample_id":"a","query":"\\ud800"}\n')
    with streamed(path, intake=Intake()) as found:
        assert found is None


@pytest.mark.parametrize(("rows", "workers"), [(40, 1), (30, 2)])
def test_compressed_runs_come_to_the_same_bytes(run: Path, tmp_path: Path, rows: int, workers: int) -> None:
    """As those of the lines, judgements, rules and all: every worker finds the rows that it asks for."""
    wanted = at_once(run, tmp_path / "once", BY)
    for name, pack in (
        ("run.jsonl.gz", gzip.compress),
        ("run.jsonl.zst", partial(pa.compress, codec="zstd")),
    ):
        path = run.with_name(name)
        path.write_bytes(pack(run.read_bytes()))
        judged_path(path).write_bytes(judged_path(run).read_bytes())
        assert in_parts(path, tmp_path / "parts", BY, rows=rows, workers=workers) == wanted


@pytest.mark.parametrize("workers", [1, 2])
def test_tables_come_to_the_same_bytes(rich_run: list[EvalRecord], tmp_path: Path, workers: int) -> None:
    """Some rows of it by columns, some by the models."""
    rows = [json.loads(encode(record)) for record in rich_run]
    full = {name: [row[name] for row in rows] for name in rows[0] if any(row[name] for row in rows)}
    path = tmp_path / "run.parquet"
    pq.write_table(pa.table(full), path, row_group_size=33)
    assert in_parts(path, tmp_path / "parts", BY, rows=40, workers=workers) == at_once(
        path, tmp_path / "once", BY
    )


def test_parts_may_be_in_the_memory_of_one_process(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="needs the extra dask")
    wanted = in_parts(run, tmp_path / "here", BY, rows=40)
    assert in_parts(run, tmp_path / "there", BY, rows=40, where="memory://scratch") == wanted


def test_workers_change_no_bit(run: Path, tmp_path: Path) -> None:
    wanted = in_parts(run, tmp_path / "one", BY, rows=40)
    for workers, rows in ((2, 40), (8, 30)):
        assert in_parts(run, tmp_path / f"{workers}", BY, rows=rows, workers=workers) == wanted


def test_the_order_of_the_lines_changes_no_mean_and_no_interval(
    rich_run: list[EvalRecord], tmp_path: Path
) -> None:
    once = list({record.sample_id: record for record in rich_run}.values())
    path = written(tmp_path / "run.jsonl", once)
    wanted = in_parts(path, tmp_path / "in_order", BY, rows=11)
    random.Random(7).shuffle(once)  # noqa: S311 - test data
    found = in_parts(written(path, once), tmp_path / "shuffled", BY, rows=17)
    assert found["samples.parquet"] != wanted["samples.parquet"]
    assert {name: found[name] for name in ORDERLESS} == {name: wanted[name] for name in ORDERLESS}
