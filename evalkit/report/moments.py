"""Runs as history sees them, from the tables of their reports where those still hold, else scored anew."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from evalkit import runs
from evalkit.contracts import Manifest, MetricResult
from evalkit.engines.scored import scored
from evalkit.errors import NoInput
from evalkit.judgements import judged_path
from evalkit.report.history import Moment
from evalkit.report.snapshot import MetricFacts
from evalkit.report.tables import OVERALL, samples, signature

__all__ = ["moments"]


def moments(runs_dir: Path, reports_dir: Path, *, last: int) -> list[Moment]:
    """The newest `last` runs of the folder that have a manifest, replays aside, oldest first; NoInput where there is none.

    The newest is scored. The tables of another's report stand for it where they are no older than the run
    and every signature in them is what this version of evalkit would write; else it is scored too.
    """
    found = _known(runs_dir)[-last:]
    if not found:
        raise NoInput(
            f"{runs_dir}: found no run with a manifest, wanted at least one; make one with `evalkit run`."
        )
    newest, facts = _scored(*found[-1])
    earlier = [
        _reported(path, reports_dir, manifest, facts) or _scored(path, manifest)[0]
        for path, manifest in found[:-1]
    ]
    return [*earlier, newest]


def _known(runs_dir: Path) -> list[tuple[Path, Manifest]]:
    """The runs with records and a manifest that asked a target, oldest first."""
    named = [(path, runs.manifest(path)) for path in runs.known(runs_dir) if path.stat().st_size]
    known = [(path, manifest) for path, manifest in named if manifest is not None and not manifest.is_replay]
    return sorted(known, key=lambda pair: (pair[1].started_at.timestamp(), pair[1].run_id))


def _scored(path: Path, manifest: Manifest) -> tuple[Moment, Sequence[MetricResult]]:
    run = scored(path)
    table = samples(run.records, run.results, run_id=manifest.run_id)
    return _moment(manifest, table.to_pandas(), run.results), run.results


def _moment(manifest: Manifest, table: pd.DataFrame, results: Sequence[MetricResult]) -> Moment:
    return Moment(
        run_id=manifest.run_id,
        started_at=manifest.started_at,
        complete=manifest.state == "complete" and len(table) >= manifest.planned,
        target=manifest.target,
        eval_set=manifest.eval_set,
        eval_set_sha256=manifest.eval_set_sha256,
        metrics={result.name: _facts(result, manifest) for result in results},
        samples=table,
    )


def _facts(result: MetricResult, manifest: Manifest) -> MetricFacts:
    told = signature(result, eval_set_sha256=manifest.eval_set_sha256)
    return MetricFacts(told, result.is_rate, result.is_pct, result.lower_is_better, result.judge)


def _reported(
    path: Path, reports_dir: Path, manifest: Manifest, results: Sequence[MetricResult]
) -> Moment | None:
    """The run by the tables of its report; null where they are missing, torn, older, set by hand, or of other metrics."""
    folder = reports_dir / manifest.run_id
    try:
        if _age(folder / "samples.parquet") < max(_age(path), _age(judged_path(path), missing=0)):
            return None
        if json.loads((folder / "summary.json").read_bytes())["overridden"]:
            return None
        table, slices = (pq.read_table(folder / f"{name}.parquet") for name in ("samples", "slices"))
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowInvalid):
        return None
    wanted = {result.name: signature(result, eval_set_sha256=manifest.eval_set_sha256) for result in results}
    if _signatures(slices) != wanted or not set(wanted) <= set(table.column_names):
        return None
    return _moment(manifest, table.to_pandas(), results)


def _age(path: Path, *, missing: int | None = None) -> int:
    """When the file was written; `missing` where it is not there, else an OSError."""
    if missing is not None and not path.exists():
        return missing
    return path.stat().st_mtime_ns


def _signatures(slices: pa.Table) -> Mapping[str, str]:
    rows = slices.select(["metric", "dimension", "signature"]).to_pylist()
    return {row["metric"]: row["signature"] for row in rows if row["dimension"] == OVERALL}
