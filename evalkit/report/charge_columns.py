"""What stands beside the samples of a run to say what to fix: who failed at what, and what each could have failed at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.records import Records
from evalkit.report.causes import WRONG, Clues, first_causes
from evalkit.report.failures import Failure, Failures, judged
from evalkit.report.reasons import checks
from evalkit.report.sample_table import label_column, listed
from evalkit.report.text import storable
from evalkit.slices import scores_of

__all__ = ["COLUMNS", "WORDS", "charge_columns", "clues", "recall_of"]

_NAMES: Mapping[str, tuple[str, Callable[[EvalRecord], Iterable[str]]]] = {
    "slots": ("required_slots", lambda record: (slot.name for slot in record.required_slots)),
    "steps": ("required_steps", lambda record: (step.name for step in record.required_steps)),
    "tools": ("expected_tools", lambda record: (call.name for call in record.expected_tools or ())),
    "arguments": (
        "expected_tools",
        lambda record: (
            f"{call.name}.{name}" for call in record.expected_tools or () for name in call.arguments
        ),
    ),
    "rules": (
        "verdicts",
        lambda record: (verdict.rule for verdict in record.verdicts if verdict.passed is not None),
    ),
}
"""What a sample could fail at: the field without which it has nothing of that, and the names."""

WORDS = ("documents", *_NAMES)
"""The kinds of names of what a sample could fail at, each a column `@words:…`."""

COLUMNS = ("@judged", "@gate", "@kind", "@again", "@causes", *(f"@words:{name}" for name in WORDS))


def charge_columns(
    records: Records, results: Sequence[MetricResult], failed: Failures
) -> dict[str, pa.Array[Any]]:
    """The COLUMNS of these records: whether a gate was held against each, the first gate broken and the first reason
    (null for none), whether a later gate broke too, the first causes as JSON, and by name what it could fail at.
    """
    told: list[Failure | None] = [None] * len(records)
    for failure in failed.failed:
        told[failure.row] = failure
    entered = judged(records, {result.name: scores_of(records, result).counted for result in results})
    entered[[failure.row for failure in failed.failed]] = True
    return {
        "@judged": pa.array(entered),
        "@gate": _texts(told, lambda failure: failure.gate),
        "@kind": _texts(told, lambda failure: failure.reasons[0].kind),
        "@again": pa.array([failure is not None and failure.again for failure in told]),
        "@causes": _texts(told, _causes),
        "@words:documents": label_column(records, "reference_doc_ids"),
        **{f"@words:{name}": _words(records, *where) for name, where in _NAMES.items()},
    }


def _texts(told: list[Failure | None], text: Callable[[Failure], str]) -> pa.Array[Any]:
    texts = (None if failure is None else text(failure) for failure in told)
    return pa.array(texts, type=pa.string())


def _causes(failure: Failure) -> str:
    return json.dumps([[cause.kind, *map(storable, cause.subject)] for cause in first_causes(failure)])


def _words(records: Records, field: str, names: Callable[[EvalRecord], Iterable[str]]) -> pa.Array[Any]:
    """The names of each record, each once."""
    rows = np.flatnonzero(records.given(field)).tolist()
    found = [[*dict.fromkeys(map(storable, names(records[row])))] for row in rows]
    sizes = np.zeros(len(records), dtype=np.int64)
    sizes[rows] = [len(each) for each in found]
    return listed(sizes, pa.array([name for each in found for name in each], type=pa.string()))


def clues(records: Records, results: Sequence[MetricResult], failed: Failures) -> Clues:
    """What these records tell of the facts of their run."""
    firsts = (cause for failure in failed.failed for cause in first_causes(failure) if cause.kind == WRONG)
    recall = recall_of(result.name for result in results)
    counted = [scores_of(records, result).counted for result in results if result.name == recall]
    wanted, got = records.lists("reference_doc_ids", "retrieved_doc_ids")
    asked = (
        np.repeat(counted[0], np.diff(wanted.offsets)) if counted else np.zeros(len(wanted.codes), np.bool_)
    )
    ways = Counter((storable(gold), storable(given)) for _, (gold, given) in firsts)
    return Clues(ways, *(_named(records, codes) for codes in (wanted.codes[asked], got.codes)))


def recall_of(metrics: Iterable[str]) -> str:
    """The metric among these that the gate of retrieval is held against; empty where there is none."""
    return next((check.metric for check in checks(metrics) if check.metric.startswith("recall@")), "")


def _named(records: Records, codes: NDArray[np.int32]) -> frozenset[str]:
    texts = records.vocabulary
    return frozenset(storable(texts[code]) for code in np.unique(codes[codes >= 0]).tolist())
