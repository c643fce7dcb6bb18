"""What the evidence endpoint says a question led to: intents, sub-questions, documents, chunks, contexts.

It is a second run of the pipeline, without the answer. A reply that lacks a list is an error, never an empty
retrieval.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evalkit.contracts import ChannelError
from evalkit.net.exchange import Exchange, timings
from evalkit.targets.channels import Evidence

__all__ = ["read_evidence"]


class _Data(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    docs: list[str | None] = Field(alias="retrievedDocIds")
    intents: list[str | None] = Field(alias="intentLeafIds")
    questions: list[str] = Field(alias="subIntents", default_factory=list)
    chunks: list[str | None] | None = Field(alias="retrievedChunkIds", default=None)
    contexts: list[str] | None = Field(alias="retrievedContexts", default=None)
    context_docs: list[str | None] | None = Field(alias="retrievedContextDocIds", default=None)


def read_evidence(seen: Exchange) -> Evidence:
    """The evidence in the envelope of `seen`; `observed` has it under the names of an observation."""
    evidence = Evidence(error=seen.error, timings=timings(seen), retry_after=seen.retry_after)
    if isinstance(seen.reply, dict) and seen.reply.get("requestId"):
        evidence.ids["requestId"] = str(seen.reply["requestId"])
    if seen.error is not None:
        return evidence
    try:
        evidence.observed = _observed(_Data.model_validate(seen.reply.get("data")))
    except ValidationError as error:
        evidence.error = ChannelError(
            kind="bad_evidence", message=_faults(error), http_status=seen.http_status
        )
    return evidence


def _observed(data: _Data) -> dict[str, Any]:
    return {
        "intent_pred": next((intent for intent in data.intents if intent), None),
        "intent_pred_all": tuple(data.intents),
        "sub_questions": tuple(data.questions),
        "retrieved_doc_ids": tuple(doc for doc in data.docs if doc),
        "retrieved_chunk_ids": None
        if data.chunks is None
        else tuple(chunk for chunk in data.chunks if chunk),
        "retrieved_contexts": None if data.contexts is None else tuple(data.contexts),
        "retrieved_context_doc_ids": None if data.context_docs is None else tuple(data.context_docs),
    }


def _faults(error: ValidationError) -> str:
    """Where the reply is not as it should be, and what was found there."""
    return "; ".join(
        f"data.{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
        for fault in error.errors(include_input=False)[:5]
    )
