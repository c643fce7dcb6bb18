"""Completion scores: set operations over what was found."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.errors import UsageError
from evalkit.finding import Trust, found, is_value, steps
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["compute"]

_SLACK = 1e-9


class _Scores(NamedTuple):
    """The scores of one answered record by the name of the metric; null where it does not count."""

    slot_completion: float | None = None
    step_completion: float | None = None
    completion: float | None = None
    slot_value_accuracy: float | None = None


def compute(
    records: RecordsLike, *, slot_weight: float = 0.4, step_weight: float = 0.6, trust: Trust = "report"
) -> list[MetricResult]:
    """How much of the task was done, between 0 and 1.

    - `slot_completion`: required slots filled / required slots
    - `step_completion`: required steps done, each after those it waits for / required steps
    - `completion`: `slot_weight` · slots + `step_weight` · steps where both are required, else the one that is
    - `slot_value_accuracy`: slots filled with their reference value / required slots that have one

    `trust` says who decides whether a slot was filled: the target's `report` where it makes one, or the `texts`
    alone. Counted: something of the kind is required, the answer is ok, and `found` or `steps` can tell. Raises
    UsageError for weights below 0 or that do not sum to 1.
    """
    if not (min(slot_weight, step_weight) >= 0 and abs(slot_weight + step_weight - 1) <= _SLACK):
        raise UsageError(
            f"completion: found slot_weight {slot_weight} and step_weight {step_weight}, "
            "wanted two numbers from 0 that sum to 1."
        )
    table = Records.of(records)
    columns = np.full((len(_Scores._fields), len(table)), np.nan)
    required = table.given("required_slots") | table.given("required_steps")
    for row in np.flatnonzero(required & table.equals("answer_status", "ok")).tolist():
        columns[:, row] = np.array(_scores(table[row], (slot_weight, step_weight), trust), dtype=np.float64)
    return [
        MetricResult(name, *slice_mean(table, Scores(column, ~np.isnan(column))), is_pct=True)
        for name, column in zip(_Scores._fields, columns, strict=True)
    ]


def _scores(record: EvalRecord, weights: tuple[float, float], trust: Trust) -> _Scores:
    slots, values = _slots(record, trust)
    done = _steps(record)
    return _Scores(slots, done, _together(record, (slots, done), weights), values)


def _slots(record: EvalRecord, trust: Trust) -> tuple[float | None, float | None]:
    """The share of the slots that were filled, and of those with a reference value that were filled so."""
    required = {slot.name: slot for slot in record.required_slots}
    findings = found(record, trust=trust)
    if not required or findings is None:
        return None, None
    values = {finding.slot: finding for finding in findings}
    right = [
        slot.name in values and is_value(values[slot.name], slot, record)
        for slot in required.values()
        if slot.value is not None
    ]
    return len(values) / len(required), sum(right) / len(right) if right else None


def _steps(record: EvalRecord) -> float | None:
    """The share of the steps that were done in order."""
    required = {step.name for step in record.required_steps}
    findings = steps(record)
    if not required or findings is None:
        return None
    return sum(finding.in_order for finding in findings) / len(required)


def _together(
    record: EvalRecord, scores: tuple[float | None, float | None], weights: tuple[float, float]
) -> float | None:
    """Slots and steps as one number; null where one is required and not known."""
    slots, done = scores
    if not record.required_steps:
        return slots
    if not record.required_slots:
        return done
    if slots is None or done is None:
        return None
    return (weights[0] * slots + weights[1] * done) / sum(weights)  # 1 and 1 are exactly 1
