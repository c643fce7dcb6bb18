"""Which fields of a record are kept as columns, and of what type: all that metrics and slices ask for.

Texts and lists are columns as they are, calls as texts; of what has parts of its own only some parts are, and
whether it is there at all. Everything else of a record is read from its line or row when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalkit.contracts import EvalRecord
from evalkit.records.calls import in_texts

__all__ = ["CALLS", "COLUMNS", "GIVEN", "PARTS", "SIZED", "call_column", "of_rows", "size_column", "value_of"]

_TEXT, _TEXTS = pa.string(), pa.list_(pa.string())
_MS = pa.float64()

PARTS: Mapping[str, Mapping[str, pa.DataType]] = {
    "answer_error": {"kind": _TEXT},
    "evidence_error": {"kind": _TEXT},
    "answer_timings": {
        "queue_ms": _MS,
        "connect_ms": _MS,
        "first_event_ms": _MS,
        "first_reasoning_ms": _MS,
        "first_text_ms": _MS,
        "last_text_ms": _MS,
        "end_ms": _MS,
        "text_chunks": pa.int64(),
    },
    "evidence_timings": {"end_ms": _MS},
    "usage": {"completion_tokens": pa.int64()},
}
"""Of the fields with parts: the parts that are columns, as `field.part`."""

_WHOLE: Mapping[str, pa.DataType] = {
    "sample_id": _TEXT,
    "repeat": pa.int64(),
    "run_id": _TEXT,
    "query": _TEXT,
    "response": _TEXT,
    "reference": _TEXT,
    "intent_l1": _TEXT,
    "intent_l2": _TEXT,
    "intent_pred": _TEXT,
    "intent_pred_all": _TEXTS,
    "expected_turns": pa.int64(),
    "requires_rag": pa.bool_(),
    "reference_doc_ids": _TEXTS,
    "reference_doc_ids_nice": _TEXTS,
    "retrieved_doc_ids": _TEXTS,
    "difficulty": _TEXT,
    "trap_type": _TEXT,
    "rule_logic": _TEXT,
    "tags": _TEXTS,
    "messages": _TEXTS,
    "evidence_source": _TEXT,
    "answer_status": _TEXT,
    "evidence_status": _TEXT,
    "ttft_ms": pa.float64(),
    "total_ms": pa.float64(),
    "from_cache": pa.bool_(),
    "flags": _TEXTS,
    "rules_passed": pa.bool_(),
}

GIVEN = (
    "required_slots",
    "required_steps",
    "rules",
    "expectation",
    "dialog",
    "verdicts",
    "judgements",
    "asked_at",
    "scheduled_at",
    "rule_pass_threshold",
    "retrieved_chunk_ids",
    "answer_attempts",
    "evidence_attempts",
)
"""The fields of which it is a column whether they hold something: 1, or 0 where they are empty, -1 where null."""

SIZED = ("answer_attempts", "dialog", "evidence_attempts")
"""Those of GIVEN whose column is the number of their items."""


CALLS: Mapping[str, str] = {"expected_tools": "expected_tools", "tool_calls": "calls_made"}
"""The fields that hold calls, each with that whose calls are a column: turns may tell what `tool_calls` does not."""

_CALLS = pa.list_(pa.struct([("name", _TEXT), ("arguments", _TEXTS)]))


def call_column(name: str) -> str:
    """The name of the column that holds calls as texts, as `calls.in_texts`."""
    return f"{name}()"


def size_column(field: str) -> str:
    """The name of the column that says how many items the field has."""
    return f"{field}#"


COLUMNS: Mapping[str, pa.DataType] = {
    **_WHOLE,
    **{f"{field}.{part}": kind for field, parts in PARTS.items() for part, kind in parts.items()},
    **{call_column(name): _CALLS for name in CALLS.values()},
    **{size_column(field): pa.int64() for field in GIVEN},
}
"""Every column of a run, in order, by its name."""


def of_rows(rows: Sequence[EvalRecord]) -> pa.Table:
    """The columns of records that are there as rows."""
    return pa.table({name: pa.array(_values(rows, name), kind) for name, kind in COLUMNS.items()})


def value_of(row: EvalRecord, column: str) -> Any:
    """What a record holds in that column."""
    (value,) = _values([row], column)
    return value


def _values(rows: Sequence[EvalRecord], column: str) -> list[Any]:
    if column.endswith("()"):
        return [in_texts(getattr(row, column.removesuffix("()"))) for row in rows]
    if column.endswith("#"):
        field = column.removesuffix("#")
        return [_size(getattr(row, field), most=None if field in SIZED else 1) for row in rows]
    field, _, part = column.partition(".")
    found = [getattr(row, field) for row in rows]
    return [None if one is None else getattr(one, part) for one in found] if part else found


def _size(value: Any, *, most: int | None) -> int:
    if value is None:
        return -1
    size = len(value) if isinstance(value, tuple | dict) else 1
    return size if most is None else min(size, most)
