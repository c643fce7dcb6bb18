"""What a metric of one's own costs is said where the run is measured, and stands in no file."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from evalkit.cli import commands
from evalkit.contracts import EvalRecord
from evalkit.reading import encode

METRIC = """
from evalkit import MetricResult, slice_mean

def length(records):
    return MetricResult("answer_length", *slice_mean(records, lambda record: float(len(record.response or ""))))
"""
TOLD = re.compile(r"metric costly:length: \d+\.\d\d s of CPU, \d+\.\d µs a record")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a run of nine records and a metric of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "costly.py").write_text(METRIC, encoding="utf-8")
    (tmp_path / "evalkit.toml").write_text('[metrics."costly:length"]\n', encoding="utf-8")
    lines = [encode(EvalRecord(sample_id=f"c{n}", response="退" * n)) for n in range(9)]
    (tmp_path / "run.jsonl").write_bytes(b"".join(lines))
    return tmp_path


@pytest.mark.parametrize(
    "words", [["score"], ["score", "--engine", "stream", "--part-rows", "4"], ["report"]]
)
def test_a_metric_of_ones_own_says_what_it_costs(place: Path, words: list[str]) -> None:
    done = CliRunner().invoke(commands, [words[0], "run.jsonl", *words[1:], "--reports-dir", "out"])
    assert done.exit_code == 0, done.output
    assert TOLD.search(done.stderr)
    assert not any(b"of CPU" in path.read_bytes() for path in (place / "out").rglob("*") if path.is_file())


def test_metrics_of_this_package_say_nothing_of_it(place: Path) -> None:
    (place / "evalkit.toml").unlink()
    done = CliRunner().invoke(commands, ["score", "run.jsonl", "--reports-dir", "out", "--json"])
    assert done.exit_code == 0, done.output
    assert "of CPU" not in done.stderr
    assert json.loads(done.stdout)
