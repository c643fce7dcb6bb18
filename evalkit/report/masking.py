"""A digest that may be shown to others: the numbers of people are hidden, everything else is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.contracts import EvalRecord
from evalkit.records import Records
from evalkit.report.digest import Digest, digest
from evalkit.report.text import masked

__all__ = ["masked_digest"]

_KEPT = frozenset({"sample_id", "run_id", "intent_l1", "intent_l2", "intent_pred", "intent_pred_all"})
"""What identifies samples and labels: the scores hang on it."""


def masked_digest(original: Digest) -> Digest:
    """The digest with phone numbers, identity numbers and e-mail names masked in every text of its records."""
    run = original.run
    rows = [_masked_record(record) for record in run.records]
    records = Records(rows, superseded=run.records.superseded, torn=run.records.torn)
    return digest(replace(run, records=records), by=original.by)


def _masked_record(record: EvalRecord) -> EvalRecord:
    fields = {
        name: value if name in _KEPT else _masked(value)
        for name, value in record.model_dump(mode="python").items()
    }
    return EvalRecord.model_validate(fields)


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, (list, tuple)):
        return [_masked(item) for item in value]
    if isinstance(value, dict):
        return {_masked(name): _masked(item) for name, item in value.items()}
    return value
