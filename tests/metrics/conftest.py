"""What binds every metric: the row form defines it, the column form has to give the same bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from evalkit.contracts import EvalRecord, Mean, MetricResult

RowScore = Callable[[EvalRecord], "float | None"]


def mean(scores: Sequence[float | None]) -> tuple[float, int, int] | None:
    counted = [score for score in scores if score is not None]
    return (math.fsum(counted) / len(counted), len(counted), len(scores)) if counted else None


def seen(found: Mean | None) -> tuple[float, int, int] | None:
    return None if found is None else (float(found), found.n_counted, found.n_total)


def by_label(records: Sequence[EvalRecord], level: str, row: RowScore) -> dict[str, Any]:
    labels = sorted({getattr(record, level) for record in records} - {None, ""})
    return {
        label: mean([row(record) for record in records if getattr(record, level) == label])
        for label in labels
    }


def check(result: MetricResult, records: Sequence[EvalRecord], row: RowScore) -> None:
    """The result is, bit by bit, what the row form says of each record and of each slice."""
    assert dict(result.per_sample) == {record.key: row(record) for record in records}, result.name
    assert seen(result.overall) == mean([row(record) for record in records]), result.name
    for level in ("intent_l1", "intent_l2"):
        found: Mapping[str, Mean | None] = getattr(result, f"by_{level}")
        assert {label: seen(value) for label, value in found.items()} == by_label(records, level, row)


def check_all(
    results: Sequence[MetricResult], records: Sequence[EvalRecord], rows: Mapping[str, RowScore]
) -> None:
    """As `check` for each result; the names are those of the row forms, in their order."""
    assert [result.name for result in results] == list(rows)
    for result in results:
        check(result, records, rows[result.name])


@pytest.fixture(scope="session")
def agree() -> Callable[..., None]:
    """Holds results against their row forms."""
    return check_all
