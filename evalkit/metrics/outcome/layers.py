"""The first two layers, as columns: the intent and the completion of each task."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord, Layer, Verdict
from evalkit.finding import Trust
from evalkit.metrics import completion
from evalkit.records import Records
from evalkit.slices import scores_of

__all__ = ["Layers", "layers"]

Floats = NDArray[np.float64]


_TASK = ("verdicts", "rules", "expectation", "required_slots", "required_steps")
"""The fields of which a task has at least one."""


class Layers(NamedTuple):
    """Columns of shape (n,); NaN is unknown.

    `intent` is 1 where the intent was understood and 0 where not, `intent_score` how well from 0 to 1,
    `completion` the share of the task done, `task` whether the record is a task at all: it has rules, an
    expectation, or something required.
    """

    intent: Floats
    intent_score: Floats
    completion: Floats
    task: NDArray[np.bool_]

    def if_unknown_were(self, value: float) -> Layers:
        """The same with every unknown taken for `value`: 0 for the worst case, 1 for the best."""
        intent, score, done = (np.where(np.isnan(column), value, column) for column in self[:3])
        return Layers(intent, score, done, self.task)


def layers(records: Records, *, trust: Trust = "report") -> Layers:
    """Both layers of each record; unknown where the record is no task.

    Intent: the verdicts of the layer `intent` must all pass; without any, `intent_pred` equals `intent_l2`
    where that is given, which the empty text is not, and the evidence is ok. Completion: the weighed mean of the scores in the layer
    `completion`; without any, the metric `completion`, with that `trust`.
    """
    task = np.logical_or.reduce([records.given(name) for name in _TASK])
    tasks = [records[row] for row in np.flatnonzero(task).tolist()]
    told = [(*_intent(record), done) for record, done in zip(tasks, _completion(tasks, trust), strict=True)]
    columns = np.full((3, len(task)), np.nan)
    columns[:, task] = np.array(told, dtype=np.float64).reshape(len(tasks), 3).T
    return Layers(columns[0], columns[1], columns[2], task)


def _of(record: EvalRecord, layer: Layer) -> list[Verdict]:
    return [verdict for verdict in record.verdicts if verdict.layer == layer]


def _intent(record: EvalRecord) -> tuple[float, float]:
    """Whether the intent was understood, and how well."""
    verdicts = _of(record, "intent")
    if verdicts:
        passed = [math.nan if verdict.passed is None else float(verdict.passed) for verdict in verdicts]
        scores = [
            holds if verdict.score is None else verdict.score
            for holds, verdict in zip(passed, verdicts, strict=True)
        ]
        return _least(passed), _least(scores)
    if not record.intent_l2 or record.evidence_status != "ok":
        return math.nan, math.nan
    right = float(record.intent_pred == record.intent_l2)
    return right, right


def _least(values: Sequence[float]) -> float:
    """The least of them; a 0 is the least even where others are unknown."""
    return 0.0 if 0.0 in values else math.nan if any(map(math.isnan, values)) else min(values)


def _completion(tasks: Sequence[EvalRecord], trust: Trust) -> list[float]:
    table = Records(tasks)
    (by_label,) = (found for found in completion.compute(table, trust=trust) if found.name == "completion")
    scores = scores_of(table, by_label)
    known = np.where(scores.counted, scores.values, np.nan).tolist()
    return [
        _mean(verdicts) if (verdicts := _of(record, "completion")) else value
        for record, value in zip(tasks, known, strict=True)
    ]


def _mean(verdicts: Sequence[Verdict]) -> float:
    """The weighed mean score; unknown where one is."""
    total = math.fsum(verdict.weight * _known(verdict.score) for verdict in verdicts)
    return total / math.fsum(verdict.weight for verdict in verdicts)


def _known(score: float | None) -> float:
    return math.nan if score is None else score
