"""What a comparison needs to know of a run, wherever it comes from: a run file, or a committed baseline."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

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
_LABELS = ("intent_l1", "intent_l2", "intent_pred")
_DEEP = (
    "required_slots",
    "required_steps",
    "expected_tools",
    "rules",
    "expectation",
    "expected_turns",
    "asked_at",
    "rule_pass_threshold",
)
"""The fields of a case that a column says too little of."""


def _default(name: str) -> Any:
    return Case.model_fields[name].get_default(call_default_factory=True)


_PLAIN = {name: _default(name) for name in Case.model_fields if name in _CONTENT and name not in _DEEP}
"""The other fields of a case, and what they are when left out."""


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
    labels = {name: [text or None for text in records.column(name)] for name in _LABELS}
    plain = {
        name: records.column(name) for name in ("sample_id", "response", "answer_status", "evidence_status")
    }
    turns = zip(records.column("messages"), records.column("query"), strict=True)
    told: dict[str, list[str | None]] = {
        **labels,
        **plain,
        "query": ["\n".join(messages or (query,)) for messages, query in turns],
        "case_sha": _case_shas(records),
        "gold": _golds(records),
    }
    return {name: told[name] for name in TEXTS}


def _golds(records: Records) -> list[str | None]:
    """The kinds of label that each case has, by name."""
    has = [records.numbers(name) == 1 if name == "needs_retrieval" else records.given(name) for name in _GOLD]
    kinds, places = np.unique(np.array(has), axis=1, return_inverse=True)
    names = [",".join(name for name, given in zip(_GOLD, kind, strict=True) if given) for kind in kinds.T]
    return [names[place] for place in places.reshape(-1).tolist()]


def _case_shas(records: Records) -> list[str | None]:
    """The hash of what each case says but its id; defaults do not count, so that new fields do no harm."""
    deep = np.logical_or.reduce(
        [records.told(name) if _default(name) is None else records.given(name) for name in _DEEP]
    )
    columns = [(name, default, records.column(name)) for name, default in _PLAIN.items()]
    return [
        _case_sha(records[row])
        if is_deep
        else _sha(
            {name: values[row] for name, default, values in columns if not _is_same(values[row], default)}
        )
        for row, is_deep in enumerate(deep.tolist())
    ]


def _is_same(value: object, default: object) -> bool:
    return value == default or (default == () and not value)


def _sha(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _case_sha(record: EvalRecord) -> str:
    """The same of a case with parts that are no columns."""
    return _sha(record.model_dump(mode="json", include=_CONTENT, exclude_defaults=True))
