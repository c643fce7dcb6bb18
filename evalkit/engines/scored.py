"""A run on file with all that is measured of it: what reports and comparisons begin with."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit import runs
from evalkit.contracts import Manifest, MetricResult
from evalkit.engines.configured import configured
from evalkit.engines.local import local
from evalkit.engines.overrides import Manual, overridden
from evalkit.engines.rules import with_verdicts
from evalkit.errors import UnknownName
from evalkit.judgements import joined, judged_path, read_judged
from evalkit.reading import Intake, stem
from evalkit.records import Records, load
from evalkit.registry import Spec

__all__ = ["Scored", "scored"]


class Scored(NamedTuple):
    """The records of a run, every metric that is measured over them, and the manifest where there is one.

    `overridden` counts the scores that people set, by metric, and `intake` the lines of the file.
    """

    run_id: str
    records: Records
    results: list[MetricResult]
    manifest: Manifest | None
    overridden: Mapping[str, int]
    intake: Intake


def scored(
    path: Path,
    *,
    manual: Manual | None = None,
    wanted: Collection[str] | None = None,
    sample: str | None = None,
    intake: Intake | None = None,
) -> Scored:
    """The run whose records are at `path`, held against its rules and scored.

    The manifest's taxonomy says which intent has which parent. What judges said of the run stands beside it
    and is scored with it; `manual` scores are put in place. Where only some metrics are `wanted`, no more
    families are worked out than it takes to have them. Where one `sample` is named, all is about its record
    alone. The `intake` says whether bad lines are rejected; without one none is.

    Raises NoInput without records, BadData naming every line that does not hold, UnknownName for a sample that
    the run has not.
    """
    intake = intake or Intake()
    found = load(path, intake=intake)
    judged = joined(found if sample is None else _only(found, sample), read_judged(judged_path(path)))
    records, manifest = with_verdicts(judged), runs.manifest(path)
    records.of_run = {"target": manifest.target} if manifest else {}
    parents = manifest.intent_parents if manifest else {}
    metrics = [
        Spec("intent", {"parents": parents, **spec.params}) if spec.type == "intent" and parents else spec
        for spec in configured()
    ]
    results, counts = overridden(records, _measured(records, metrics, wanted), manual or {})
    return Scored(stem(path), records, results, manifest, counts, intake)


def _only(records: Records, sample: str) -> Records:
    ids = tuple(records.column("sample_id"))
    named = next((names for names in (records.keys, ids) if sample in names), None)
    if named is None:
        raise UnknownName("sample", sample, records.keys)
    return Records([records[named.index(sample)]])


def _measured(
    records: Records, families: Sequence[Spec], wanted: Collection[str] | None
) -> list[MetricResult]:
    if wanted is None:
        return local(records, metrics=families)
    results: list[MetricResult] = []
    for family in families:
        if not set(wanted) <= {result.name for result in results}:
            results += local(records, metrics=[family])
    return results
