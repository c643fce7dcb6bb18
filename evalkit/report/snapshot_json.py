"""A baseline on file: a snapshot as JSON, one sample a line in the order of their keys.

So two of them differ line by line where their samples do.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from types import NoneType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.errors import BadData, Fault, shown
from evalkit.reading import Refusal, decode
from evalkit.reading.encoding import escaped
from evalkit.report.snapshot import TEXTS, MetricFacts, Snapshot, refuse_twice

__all__ = ["from_json", "to_json"]

FORMAT = "evalkit-baseline/1"
_HEAD = ("run_id", "complete", "eval_set_sha256", "planned", "target")
_WHOLE = 2**53

_SCORES = {int, float, NoneType}


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
        raise BadData([Fault(path, 1, "format", shown(found.get("format")), repr(FORMAT))])
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
    refuse_twice(list(frame.index), [*TEXTS, *metrics])
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
        if len(row) != width or not set(map(type, row)) <= _SCORES:
            raise TypeError(f"the scores {row!r}, wanted {width} numbers or nulls")
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)
