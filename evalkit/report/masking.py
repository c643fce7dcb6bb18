"""What may be shown to others: the numbers of people are hidden, everything else is the same."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evalkit.contracts import EvalRecord
from evalkit.finding.personal import masked
from evalkit.records import Records
from evalkit.report.compare import Comparison, Flip
from evalkit.report.digest import Digest, digest
from evalkit.report.verdict import Verdict

__all__ = ["masked_digest", "masked_verdict"]

_KEPT = frozenset({"sample_id", "run_id", "intent_l1", "intent_l2", "intent_pred", "intent_pred_all"})
"""What identifies samples and labels: the scores hang on it."""


def masked_digest(original: Digest) -> Digest:
    """The digest with phone numbers, identity numbers and e-mail names masked in every text of its records."""
    run = original.run
    rows = [_masked_record(record) for record in run.records]
    records = Records(rows, superseded=run.records.superseded, torn=run.records.torn)
    records.of_run = run.records.of_run
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


def masked_verdict(original: Verdict) -> Verdict:
    """The verdict with the same masked in its sentences, and in what was asked and answered where samples flipped."""
    comparison = original.comparison
    return replace(
        original,
        checks=tuple(replace(check, reason=masked(check.reason)) for check in original.checks),
        notes=tuple(map(masked, original.notes)),
        comparison=_masked_flips(comparison) if comparison else None,
    )


def _masked_flips(comparison: Comparison) -> Comparison:
    return replace(comparison, flips=tuple(map(_masked_flip, comparison.flips)))


def _masked_flip(flip: Flip) -> Flip:
    return replace(
        flip,
        query=masked(flip.query),
        base_response=_masked(flip.base_response),
        run_response=_masked(flip.run_response),
    )
