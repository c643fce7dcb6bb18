"""The main job, as a person runs it: one command, the embedded shop, and everything it promises to leave."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from evalkit import EvalRecord, Records
from evalkit.metrics import intent, retrieval

ROOT = Path(__file__).parent.parent
SMOKE = ROOT / "eval_sets" / "eval_set_v1.jsonl"
ALL = ROOT / "eval_sets" / "eval_set_v1_all.jsonl"
FILES = {
    *("samples.parquet", "slices.parquet", "confusions.parquet", "latency.parquet", "summary.json"),
    *("report.html", "report.md", "per_sample.csv", "failures.jsonl"),
}


def command(*arguments: str, cwd: Path) -> list[str]:
    return [sys.executable, "-m", "evalkit", *arguments]


def evalkit(*arguments: str, cwd: Path, code: int = 0) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    done = subprocess.run(
        command(*arguments, cwd=cwd), cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose name has spaces and Chinese, with one finished job in it."""
    folder = tmp_path_factory.mktemp("客服 评测")
    folder.joinpath("evalkit.toml").write_bytes((ROOT / "evalkit.toml").read_bytes())
    folder.joinpath("summary.txt").write_text(
        evalkit("eval", str(SMOKE), "--target", "demo", "--run-id", "job", cwd=folder), encoding="utf-8"
    )
    return folder


def test_it_leaves_twenty_valid_records_and_every_file(place: Path) -> None:
    lines = (place / "runs" / "job.jsonl").read_text(encoding="utf-8").splitlines()
    records = [EvalRecord.model_validate_json(line) for line in lines]
    cases = [json.loads(line)["sample_id"] for line in SMOKE.read_text(encoding="utf-8").splitlines()]
    assert sorted(record.sample_id for record in records) == sorted(cases)
    assert {record.answer_status for record in records} == {"ok"}
    assert {record.evidence_status for record in records} == {"ok"}
    assert all(record.ttft_ms is not None for record in records)
    assert {path.name for path in (place / "reports" / "job").iterdir()} == FILES


def test_the_manifest_tells_where_it_all_came_from(place: Path) -> None:
    manifest = json.loads((place / "runs" / "job.meta.json").read_text(encoding="utf-8"))
    assert manifest["state"] == "complete"
    assert manifest["recorded"] == manifest["planned"] == manifest["cases"] == 20
    assert manifest["target"] == "demo"
    assert manifest["target_config"]["concurrency"] == 8
    assert manifest["intent_parents"]["S14_退换货咨询"] == "SUPPORT"
    assert len(manifest["eval_set_sha256"]) == 64


def test_the_readme_shows_what_the_shop_scores(place: Path) -> None:
    """Times differ from machine to machine and ids from run to run; all else is the same everywhere."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = readme.split("```text\n")[1].split("```")[0]
    printed = {line.rstrip() for line in (place / "summary.txt").read_text(encoding="utf-8").splitlines()}
    own = ("run ", "report ")
    stable = [line for line in shown.splitlines() if " ms · " not in line and not line.startswith(own)]
    missing = [line for line in stable if line not in printed]
    assert not missing, "the README's summary is stale"


def test_the_verdict_comes_first_in_the_terminal_and_on_the_pages(place: Path) -> None:
    printed = (place / "summary.txt").read_text(encoding="utf-8").splitlines()
    assert printed[0].startswith("PASS: ")
    assert sum(line.startswith("PASS") for line in printed) == 1
    base = json.loads((ROOT / "eval_sets" / "baselines" / "eval_set_v1.json").read_text(encoding="utf-8"))
    assert printed.index(f"run job against {base['run_id']}, exit code 0") > printed.index(printed[0]) + 20
    folder = place / "reports" / "job"
    assert f"Run job against {base['run_id']}, exit code 0" in (folder / "report.html").read_text("utf-8")
    assert "## Verdict" in (folder / "report.md").read_text("utf-8").splitlines()[:3]


def test_report_shows_the_verdict_that_eval_gave(place: Path) -> None:
    """The same pages again; with scores set by hand the verdict says how many."""
    written = {path: path.read_bytes() for path in (place / "reports" / "job").glob("report.*")}
    again = evalkit("report", "job", "--reports-dir", "again", cwd=place)
    assert again.splitlines()[0] == (place / "summary.txt").read_text(encoding="utf-8").splitlines()[0]
    assert {path: (place / "again" / "job" / path.name).read_bytes() for path in written} == written
    place.joinpath("hand.csv").write_text("sample_id,intent_top1_manual\nv1-0339,1\n", encoding="utf-8")
    evalkit("report", "job", "--reports-dir", "hand", "--manual", "hand.csv", cwd=place)
    assert "set by hand, not measured: 1 score of intent_top1" in (
        place / "hand" / "job" / "report.md"
    ).read_text("utf-8")


def test_a_regression_is_the_first_line_and_its_flips_are_on_the_page(place: Path) -> None:
    arguments = ("eval", str(SMOKE), "-t", "demo", "--set", "wrong_intent=0.5", "--run-id", "worse")
    assert evalkit(*arguments, cwd=place, code=1).startswith("REGRESSION: regression intent_top1: ")
    page = (place / "reports" / "worse" / "report.html").read_text("utf-8")
    assert "right → wrong" in page.split('<section id="flips">')[1]


def test_every_slice_re_derives_from_the_samples(place: Path) -> None:
    samples = pd.read_parquet(place / "reports" / "job" / "samples.parquet")
    for row in pd.read_parquet(place / "reports" / "job" / "slices.parquet").itertuples():
        part = samples if row.dimension == "overall" else samples[samples[row.dimension] == row.slice]
        scores = part[row.metric]
        assert (len(scores), scores.count()) == (row.n_total, row.n_counted)
        assert scores.mean() == pytest.approx(row.mean, nan_ok=True, abs=1e-12)


def test_the_tables_equal_the_row_form(place: Path) -> None:
    """The plainest Python over the lines of the run gives the same two numbers as the column form."""
    path = place / "runs" / "job.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    hits = [row["intent_pred"] == row["intent_l2"] for row in rows if row["intent_l2"]]
    assert intent.compute(path).overall == sum(hits) / len(hits)
    found = [
        len(set(row["retrieved_doc_ids"][:5]) & set(row["reference_doc_ids"])) / len(row["reference_doc_ids"])
        for row in rows
        if row["requires_rag"] and row["reference_doc_ids"]
    ]
    recall = next(result for result in retrieval.compute(path) if result.name == "recall@5")
    assert recall.overall == pytest.approx(sum(found) / len(found), abs=1e-12)


def test_tables_have_the_same_schema_in_every_run(place: Path) -> None:
    evalkit("run", str(SMOKE), "-t", "demo", "--run-id", "short", "--limit", "2", cwd=place)
    evalkit("score", "short", cwd=place)
    for name in ("samples", "slices", "confusions", "latency"):
        schemas = [pq.read_schema(place / "reports" / run / f"{name}.parquet") for run in ("job", "short")]
        assert schemas[0].equals(schemas[1], check_metadata=True)


def test_worst_and_show_print_what_a_person_needs(place: Path) -> None:
    assert "S14_退换货咨询" in evalkit(
        "worst", "job", "--by", "intent_l2", "--metric", "intent_top1", cwd=place
    )
    rows = json.loads(evalkit("worst", "job", "--json", cwd=place))
    assert rows[0]["figure"]["mean"] <= rows[-1]["figure"]["mean"]
    sample = Records.of(place / "runs" / "job.jsonl")[0]
    assert sample.query[:6] in evalkit("show", "job", sample.sample_id, cwd=place)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("score", "nowhere"), 66, "nowhere"),
        (("run", "missing.jsonl", "-t", "demo"), 66, "missing.jsonl"),
        (("run", str(SMOKE), "-t", "demmo"), 2, "Did you mean 'demo'"),
        (("run", str(SMOKE), "-t", "demo", "--set", "password=x"), 2, "environment"),
        (("run", str(SMOKE), "-t", "demo", "--set", "speed=9"), 2, "speed"),
        (("run", str(SMOKE), "-t", "demo", "--run-id", "job"), 2, "--resume"),
        (("run", str(SMOKE), "-t", "demo", "--filter", "nothing=1"), 2, "nothing"),
        (("show", "job", "v1-9999"), 2, "v1-9999"),
        (("worst", "job", "--metric", "intent_top"), 2, "intent_top1"),
    ],
    ids=["no run", "no set", "target", "secret", "parameter", "taken id", "filter", "sample", "metric"],
)
def test_a_mistake_is_told_in_a_line_with_its_exit_code(
    place: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = subprocess.run(
        command(*arguments, cwd=place),
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr
    assert said in done.stderr


def test_killed_half_way_and_resumed_it_has_each_case_once(tmp_path: Path) -> None:
    """Kill -9 loses nothing that was acknowledged, and nothing is asked twice into the file."""
    arguments = ("run", str(ALL), "-t", "demo", "--run-id", "long", "-c", "8", "--limit", "120")
    child = subprocess.Popen(
        command(*arguments, cwd=tmp_path), cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    path = tmp_path / "runs" / "long.jsonl"
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < 40:
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    acknowledged = {record.sample_id for record in Records.of(path)}
    assert len(acknowledged) < 120
    evalkit(*arguments, "--resume", cwd=tmp_path)
    ids = [json.loads(line)["sample_id"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == 120
    assert acknowledged <= set(ids)
