"""What a comparison needs to know of a run, wherever it comes from: a run file, or a committed baseline.

A baseline is such a snapshot as JSON, one sample a line in the order of their keys, so that two of them
differ line by line where their samples do.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from operator import attrgetter
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.contracts import Case, EvalRecord, Manifest, MetricResult
from evalkit.errors import BadData, Fault, UsageError
from evalkit.reading import Refusal, decode
from evalkit.reading.encoding import escaped
from evalkit.records import Records
from evalkit.report.tables import signature
from evalkit.slices import scores_of

__all__ = ["MetricFacts", "Snapshot", "from_json", "snapshot", "to_json"]

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

FORMAT = "evalkit-baseline/1"
_HEAD = ("run_id", "complete", "eval_set_sha256", "planned", "target")
_WHOLE = 2**53
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
    An unknown eval set has the hash "".
    """

    run_id: str
    complete: bool
    eval_set_sha256: str
    planned: int
    target: str
    metrics: Mapping[str, MetricFacts]
    samples: pd.DataFrame


def snapshot(records: Records, results: Sequence[MetricResult], manifest: Manifest | None) -> Snapshot:
    """The snapshot of a run with its score columns; without a manifest it is of unknown completeness.

    UsageError where two samples have one key, or a metric has the name of a column.
    """
    keys = list(records.keys)
    _refuse_twice(keys, [*TEXTS, *(result.name for result in results)])
    texts = {name: pd.Series(column, dtype=object) for name, column in _texts(records).items()}
    frame = pd.DataFrame(texts | {result.name: _scores(records, result) for result in results})
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
    )


def _refuse_twice(keys: list[str], columns: list[str]) -> None:
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


def to_json(snap: Snapshot) -> bytes:
    """The snapshot as UTF-8 JSON, one sample a line: the same snapshot gives the same bytes."""
    head = {name: getattr(snap, name) for name in _HEAD}
    metrics = {name: asdict(facts) for name, facts in snap.metrics.items()}
    lines = [
        "{",
        *(f" {_json(name)}: {_json(value)}," for name, value in {"format": FORMAT, **head}.items()),
        ' "metrics": {',
        ",\n".join(f"  {_json(name)}: {_json(facts)}" for name, facts in metrics.items()),
        " },",
        ' "samples": [',
        ",\n".join(f"  {_json(sample)}" for sample in _samples(snap)),
        " ]",
        "}",
    ]
    text = "\n".join(line for line in lines if line) + "\n"
    return escaped(text)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _samples(snap: Snapshot) -> Iterator[dict[str, Any]]:
    """Each sample as its key, the texts it has, and its scores in the order of the metrics."""
    texts = [snap.samples[name].to_list() for name in TEXTS]
    columns = [snap.samples[name].to_list() for name in snap.metrics]
    for row, key in enumerate(snap.samples.index):
        said = {name: column[row] for name, column in zip(TEXTS, texts, strict=True)}
        yield {
            "key": key,
            **{name: text for name, text in said.items() if text is not None},
            "scores": [_plain(column[row]) for column in columns],
        }


def _plain(score: float) -> float | None:
    """The score as JSON has it: null for not counted, a whole number without its `.0`."""
    if math.isnan(score):
        return None
    return int(score) if score.is_integer() and abs(score) < _WHOLE else score


def from_json(raw: bytes, *, path: str = "baseline") -> Snapshot:
    """The snapshot that `to_json` wrote; BadData says what in `path` does not hold."""
    try:
        found = decode(raw)
    except Refusal as bad:
        raise BadData([bad.fault(path, "file")]) from None
    if found.get("format") != FORMAT:
        raise BadData([Fault(path, 1, "format", repr(found.get("format")), repr(FORMAT))])
    try:
        return _read(found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadData([Fault(path, 1, "file", f"{error!r}", "a baseline that evalkit wrote")]) from None


def _read(found: dict[str, Any]) -> Snapshot:
    metrics = {name: MetricFacts(**facts) for name, facts in found["metrics"].items()}
    rows = found["samples"]
    texts = {name: pd.Series([row.get(name) for row in rows], dtype=object) for name in TEXTS}
    table = _table([row["scores"] for row in rows], len(metrics))
    frame = pd.DataFrame(texts | {name: table[:, column] for column, name in enumerate(metrics)})
    frame.index = pd.Index([row["key"] for row in rows], dtype=object, name="key")
    _refuse_twice(list(frame.index), [*TEXTS, *metrics])
    return Snapshot(
        run_id=str(found["run_id"]),
        complete=found["complete"] is True,
        eval_set_sha256=str(found["eval_set_sha256"]),
        planned=int(found["planned"]),
        target=str(found["target"]),
        metrics=metrics,
        samples=frame.sort_index(),
    )


def _table(rows: list[list[float | None]], width: int) -> NDArray[np.float64]:
    """The scores as (samples, metrics), null as NaN; TypeError for what is no score."""
    for row in rows:
        odd = [score for score in row if type(score) not in (int, float, NoneType)]
        if odd or len(row) != width:
            raise TypeError(f"the scores {row!r}, wanted {width} numbers or nulls")
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)
