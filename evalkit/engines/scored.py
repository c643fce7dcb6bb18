"""A run on file with all that is measured of it: what reports and comparisons begin with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from evalkit import runs
from evalkit.contracts import Manifest, MetricResult
from evalkit.engines.local import DEFAULT, local
from evalkit.engines.rules import with_verdicts
from evalkit.records import Records
from evalkit.registry import Spec

__all__ = ["Scored", "scored"]


class Scored(NamedTuple):
    """The records of a run, every built-in metric over them, and the manifest where there is one."""

    run_id: str
    records: Records
    results: list[MetricResult]
    manifest: Manifest | None


def scored(path: Path) -> Scored:
    """The run whose records are at `path`, held against its rules and scored; the manifest's taxonomy says which intent has which parent.

    Raises NoInput without records, BadData naming every line that does not hold.
    """
    records, manifest = with_verdicts(Records.of(path)), runs.manifest(path)
    parents = manifest.intent_parents if manifest else {}
    metrics = [
        Spec("intent", {"parents": parents}) if spec.type == "intent" and parents else spec
        for spec in DEFAULT
    ]
    return Scored(path.stem, records, local(records, metrics=metrics), manifest)
