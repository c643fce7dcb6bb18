"""What a comparison needs to know of a run, wherever it comes from: a run file, or a committed baseline."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.contracts import Case, EvalRecord, Manifest, MetricResult
from evalkit.errors import UsageError
from evalkit.records import Records
from evalkit.report.clusters import clusters
from evalkit.report.fields import labels_of, refuse_unknown
from evalkit.report.tables import signature
from evalkit.slices import scores_of

__all__ = ["MetricFacts", "Snapshot", "refuse_twice", "snapshot"]

TEXTS = (
    "sample_id",
    "intent_l1",
    "intent_l2",
    "intent_pred",
    "query",
    "response",
    "answer_status",
    "evidence_status",
    "case_sha",
    "gold",
)
"""The columns of a snapshot before its metrics: texts, null where there is none."""

CLUSTER = "cluster"
"""The column that says which samples are drawn together, where somebody asked for that."""

_CONTENT = set(Case.model_fields) - {"sample_id"}
_GOLD = (
    "intent_l1",
    "intent_l2",
    "needs_retrieval",
    "reference_doc_ids",
    "reference_doc_ids_nice",
    "reference",
    "required_slots",
    "required_steps",
    "expected_tools",
    "rules",
    "expectation",
    "messages",
)
_gold = attrgetter(*_GOLD)


@dataclass(frozen=True, slots=True)
class MetricFacts:
    """What tells whether two numbers of a metric compare: equal `signature`s; `judge` is empty for none."""

    signature: str
    is_rate: bool
    is_pct: bool
    lower_is_better: bool
    judge: str = ""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A run as a comparison sees it.

    `samples` is indexed by the sample's key, in order, and has the columns of TEXTS, then one float64 column
    a metric, NaN where the sample is not counted. `case_sha` is the hash of what the case says, its id left
    out; `gold` names the kinds of label it has. `complete` is whether all `planned` samples are there.
    An unknown eval set has the hash "". Columns of `by`, which no baseline keeps, hold the labels of further
    dimensions; with a field in `cluster` the column CLUSTER says which samples go together. `overridden`
    counts the scores that people set, by metric.
    """

    run_id: str
    complete: bool
    eval_set_sha256: str
    planned: int
    target: str
    metrics: Mapping[str, MetricFacts]
    samples: pd.DataFrame
    by: tuple[str, ...] = ()
    cluster: str | None = None
    overridden: Mapping[str, int] = field(default_factory=dict)


def snapshot(
    records: Records,
    results: Sequence[MetricResult],
    manifest: Manifest | None,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    overridden: Mapping[str, int] | None = None,
) -> Snapshot:
    """The snapshot of a run with its score columns; without a manifest it is of unknown completeness.

    UsageError where two samples have one key, or a metric has the name of a column; UnknownName for a field
    in `by` or `cluster` that no record has.
    """
    refuse_unknown(records, [*by, *([cluster] if cluster else [])])
    more = tuple(name for name in by if name not in TEXTS)
    keys = list(records.keys)
    refuse_twice(keys, [*TEXTS, *more, CLUSTER, *(result.name for result in results)])
    texts = {name: pd.Series(column, dtype=object) for name, column in _texts(records).items()}
    labels = {name: pd.Series(labels_of(records, name), dtype=object) for name in more}
    together = {CLUSTER: clusters(records, cluster)} if cluster else {}
    scored = {result.name: _scores(records, result) for result in results}
    frame = pd.DataFrame({**texts, **labels, **together, **scored})
    frame.index = pd.Index(keys, dtype=object, name="key")
    sha256 = manifest.eval_set_sha256 if manifest else ""
    return Snapshot(
        run_id=manifest.run_id if manifest else "",
        complete=bool(manifest and manifest.state == "complete" and len(records) >= manifest.planned),
        eval_set_sha256=sha256,
        planned=manifest.planned if manifest else 0,
        target=manifest.target if manifest else "",
        metrics={result.name: _facts(result, sha256) for result in results},
        samples=frame.sort_index(),
        by=tuple(by),
        cluster=cluster,
        overridden=overridden or {},
    )


def refuse_twice(keys: list[str], columns: list[str]) -> None:
    """UsageError for a sample's key, or a column's name, that is there twice."""
    for what, names in (("sample", keys), ("metric", columns)):
        twice = sorted(name for name, n in Counter(names).items() if n > 1)
        if twice:
            raise UsageError(f"{what}: found {', '.join(twice[:5])} twice, wanted each name once.")


def _facts(result: MetricResult, sha256: str) -> MetricFacts:
    told = signature(result, eval_set_sha256=sha256 or None)
    return MetricFacts(told, result.is_rate, result.is_pct, result.lower_is_better, result.judge)


def _scores(records: Records, result: MetricResult) -> NDArray[np.float64]:
    column = scores_of(records, result)
    return np.where(column.counted, column.values, np.nan)


def _texts(records: Records) -> dict[str, list[str | None]]:
    """The columns of TEXTS in the order of the records; empty labels are none."""
    rows = [
        (
            record.sample_id,
            record.intent_l1 or None,
            record.intent_l2 or None,
            record.intent_pred or None,
            "\n".join(record.user_turns),
            record.response,
            record.answer_status,
            record.evidence_status,
            _case_sha(record),
            ",".join(name for name, gold in zip(_GOLD, _gold(record), strict=True) if gold),
        )
        for record in records
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(TEXTS)}


def _case_sha(record: EvalRecord) -> str:
    """The hash of the fields of the case but its id; defaults do not count, so that new fields do no harm."""
    try:
        text = record.model_dump_json(include=_CONTENT, exclude_defaults=True)
    except ValueError:  # a lone half of a surrogate pair
        text = json.dumps(record.model_dump(include=_CONTENT, exclude_defaults=True), default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
