"""A run on file with all that is measured of it: what reports and comparisons begin with."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evalkit import runs
from evalkit.contracts import Manifest, MetricResult
from evalkit.engines.configured import configured
from evalkit.engines.local import is_ours, local, refuse_twice
from evalkit.engines.overrides import Manual, overridden
from evalkit.engines.rules import with_verdicts
from evalkit.errors import UnknownName
from evalkit.judgements import joined, judged_path, read_judged
from evalkit.reading import Intake, stem
from evalkit.records import Records, load
from evalkit.registry import Spec, bind

__all__ = ["Scored", "scored"]


class Scored(NamedTuple):
    """The records of a run, every metric that is measured over them, and the manifest where there is one.

    `overridden` counts the scores that people set, by metric, and `intake` the lines of the file; `spent` has the
    CPU seconds of each metric that is none of this package.
    """

    run_id: str
    records: Records
    results: list[MetricResult]
    manifest: Manifest | None
    overridden: Mapping[str, int]
    intake: Intake
    spent: Mapping[str, float]


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
    measured, spent = _measured(records, metrics, wanted)
    results, counts = overridden(records, measured, manual or {})
    return Scored(stem(path), records, results, manifest, counts, intake, spent)


def _only(records: Records, sample: str) -> Records:
    ids = tuple(records.column("sample_id"))
    named = next((names for names in (records.keys, ids) if sample in names), None)
    if named is None:
        raise UnknownName("sample", sample, records.keys)
    return Records([records[named.index(sample)]])


def _measured(
    records: Records, families: Sequence[Spec], wanted: Collection[str] | None
) -> tuple[list[MetricResult], dict[str, float]]:
    """The results, families one by one until all that are wanted are there, and what metrics of others have spent."""
    for family in families:
        bind("metric", family)  # what does not fit is refused before anything is worked out
    results, spent = list[MetricResult](), dict[str, float]()
    for family in families:
        if wanted is None or not set(wanted) <= {result.name for result in results}:
            start = time.process_time()
            results += local(records, metrics=[family])
            if not is_ours(family):
                spent[family.type] = time.process_time() - start
    refuse_twice(result.name for result in results)
    return results, spent
