"""The benchmarks against other tools compare equal values, and what is not there is said."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from evalkit.records import load

ROOT = Path(__file__).parents[2]


def test_text_metrics_are_their_peers_(benchmark) -> None:
    """On texts as long as answers are, with something in common."""
    module = benchmark("text_peers")
    pairs = module.pairs_of(6)
    for ours, _, theirs, _ in module.LEGS.values():
        values = np.asarray(ours(pairs))
        np.testing.assert_allclose(values, theirs(pairs), rtol=0, atol=1e-12)
        assert 0.1 < values.min() <= values.max() < 1


def test_each_shared_number_is_measured(benchmark, tmp_path: Path) -> None:
    """Ours runs in its process; every leg that a peer has, we have."""
    module = benchmark("peers")
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in module.samples(20)), encoding="utf-8")
    said = module.run("evalkit", sys.executable, path)
    assert said is not None
    assert all(cost > 0 and 0 <= value <= 1 for cost, value in said["legs"].values())
    assert said["legs"]["document recall"][1] > 0.5


def test_a_peer_that_does_not_work_is_named(benchmark, tmp_path: Path, capsys) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_text(json.dumps(next(iter(benchmark("peers").samples(1)))), encoding="utf-8")
    assert benchmark("peers").run("ragas", sys.executable, path) is None
    assert "ragas: failed: ModuleNotFoundError" in capsys.readouterr().out


def test_the_page_names_every_script_and_text_metric(benchmark) -> None:
    page = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for told in ("benchmarks/text_peers.py", "benchmarks/peers.py", *benchmark("text_peers").LEGS):
        assert told in page


def test_retrieval_metrics_are_their_peers(benchmark) -> None:
    """From the same plain lists, each value of each query."""
    module = benchmark("retrieval_peers")
    given = module.queries(200)
    ours = module.our_values(module.retrieval.compute(module.our_build(given)), ())
    for tool in module.TOOLS[1:]:
        if tool.name == "ranx":  # heavy, and no dependency of the tests
            continue
        theirs = tool.values(tool.evaluate(tool.build(given)), given.ids)
        n = tool.scores
        assert module.agreement(ours, theirs) == f"{n} of {n}"


def test_runs_of_every_kind_are_the_same_run(benchmark, tmp_path: Path) -> None:
    module = benchmark("memory")
    told = []
    for kind in (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".arrow"):
        module.write(tmp_path / f"run{kind}", module.records(30))
        told.append(list(load(tmp_path / f"run{kind}")))
    assert len(told[0]) == 30
    assert told[1:] == told[:-1]
