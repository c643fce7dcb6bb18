"""Which channels of a record were asked at all: of one that no field speaks of, nobody knows anything."""

from __future__ import annotations

from evalkit.contracts.observation import Observation
from evalkit.contracts.record import EvalRecord

__all__ = ["asked"]

_EVIDENCE_FIELDS = {
    name
    for name in (*Observation.model_fields, "retrieved_doc_ids_raw")
    if name.startswith(("evidence_", "intent_pred", "retrieved_", "sub_questions"))
}
_ANSWER_FIELDS = set(Observation.model_fields) - _EVIDENCE_FIELDS - {"trace_ids", "from_cache", "flags"}


def asked(record: EvalRecord, given: set[str]) -> EvalRecord:
    """The record with the channels that no field in `given` speaks of marked as never asked."""
    skipped: dict[str, str] = {}
    if not given & _ANSWER_FIELDS:
        skipped["answer_status"] = "skipped"
    if not given & _EVIDENCE_FIELDS:
        skipped["evidence_status"] = "skipped"
    return record.model_copy(update=skipped) if skipped else record
