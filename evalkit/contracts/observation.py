"""What happened when a case was run: all that a target gives back, channel by channel."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import AliasChoices, Field, JsonValue

from evalkit.contracts.values import (
    DocId,
    Frozen,
    IdText,
    Milliseconds,
    NullAsEmpty,
    NullAsNoKeys,
    ToolCall,
)

__all__ = [
    "AnswerStatus",
    "Attempt",
    "ChannelError",
    "EvidenceStatus",
    "Observation",
    "Timings",
    "Turn",
    "Usage",
]

AnswerStatus = Literal["ok", "incomplete", "cancelled", "rejected", "error", "skipped"]
"""How the answer channel ended; `skipped` means that it was never asked."""

EvidenceStatus = Literal["ok", "error", "skipped"]
"""How the evidence channel ended; `skipped` means that it was never asked."""

ToolCalls = tuple[ToolCall, ...]
Texts = Annotated[tuple[str, ...], NullAsEmpty]


class ChannelError(Frozen):
    """Why a channel failed."""

    kind: str
    """A stable word for the cause: `deadline.total`, `http_status`, …"""
    message: str = ""
    """The cause in words."""
    http_status: int | None = None
    """The HTTP status, where there was a response."""
    code: str | None = None
    """The target's own error code."""
    body: str | None = None
    """The beginning of what the target sent instead."""


class Attempt(Frozen):
    """One try of a channel; only the last one's timings become the record's."""

    status: str
    """How the try ended."""
    total_ms: Milliseconds | None = None
    """How long the try took."""
    error: ChannelError | None = None
    """Why the try failed."""


class Timings(Frozen):
    """When things happened in one exchange, in ms after the request left; null where they did not."""

    queue_ms: Milliseconds | None = None
    """The wait for a free slot, before the request."""
    connect_ms: Milliseconds | None = None
    """The wait for a connection, before the request."""
    headers_ms: Milliseconds | None = None
    """The response's headers were there."""
    first_byte_ms: Milliseconds | None = None
    """The body's first byte."""
    first_event_ms: Milliseconds | None = None
    """The stream's first event."""
    first_reasoning_ms: Milliseconds | None = None
    """The first thought that is not empty."""
    first_text_ms: Milliseconds | None = None
    """The first answer text that is not empty."""
    last_text_ms: Milliseconds | None = None
    """The last answer text."""
    end_ms: Milliseconds | None = None
    """The end of the response."""
    text_chunks: int | None = Field(default=None, ge=0)
    """How many pieces the answer came in."""
    events: int | None = Field(default=None, ge=0)
    """How many events the stream had."""
    reused_connection: bool | None = None
    """Whether an open connection served the request."""


class Usage(Frozen):
    """Tokens as the server counted them; never estimated."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    """Tokens of the question and its context."""
    completion_tokens: int | None = Field(default=None, ge=0)
    """Tokens of the answer."""
    total_tokens: int | None = Field(default=None, ge=0)
    """Both together."""

    @classmethod
    def summed(cls, told: Iterable[Usage | None]) -> Usage | None:
        """All that was told, added up count by count; null where nobody told any, never 0."""
        known = [usage for usage in told if usage is not None]
        if not known:
            return None
        counts = {
            name: [count for usage in known if (count := getattr(usage, name)) is not None]
            for name in cls.model_fields
        }
        return cls(**{name: sum(found) if found else None for name, found in counts.items()})


class Turn(Frozen):
    """One exchange of a dialog: what was sent, what came back."""

    sent_message: str = ""
    """What the user said."""
    reply: str = ""
    """What the target answered."""
    thinking: str | None = None
    """What the target thought aloud, apart from its answer."""
    status: AnswerStatus = "ok"
    """How the exchange ended."""
    ttft_ms: Milliseconds | None = None
    """Time to the first answer text that is not empty."""
    latency_ms: Milliseconds | None = None
    """Time to the end of the exchange."""
    tool_calls: Annotated[ToolCalls, NullAsEmpty] = ()
    """The tools called in this turn, in order."""
    intent_pred: str | None = None
    """The intent that the target saw in this turn."""
    retrieved_doc_ids: tuple[DocId, ...] | None = None
    """The documents retrieved for this turn, best first."""
    filled_slots: dict[str, JsonValue] | None = None
    """The target's own report of the slots filled after this turn."""


class Observation(Frozen):
    """What happened when a case was run: all that a target gives back.

    A channel without a status is `ok`: a record written by hand need not mention what went right.
    """

    response: str | None = None
    """The answer, whole."""
    thinking: str | None = None
    """What the target thought aloud, apart from its answer."""
    dialog: Annotated[tuple[Turn, ...], NullAsEmpty] = ()
    """The exchanges of a dialog, in order."""
    tool_calls: ToolCalls | None = None
    """The tools called, in order; empty: none was, null: the target does not say."""
    filled_slots: dict[str, JsonValue] | None = None
    """The target's own report of the slots filled; null where it makes none."""
    done_steps: tuple[str, ...] | None = None
    """The target's own report of the steps done, in order; null where it makes none."""
    intent_pred: str | None = None
    """The predicted intent: the first of `intent_pred_all` that is not empty."""
    intent_pred_all: Annotated[tuple[str | None, ...], NullAsEmpty] = ()
    """The predicted intents, one a sub-question; null for one without."""
    sub_questions: Texts = ()
    """The questions that the target split the query into."""
    retrieved_doc_ids: tuple[DocId, ...] | None = Field(
        default=None, validation_alias=AliasChoices("retrieved_doc_ids", "retrieved_doc_ids_raw")
    )
    """The documents retrieved, best first, as given; also read from `retrieved_doc_ids_raw`."""
    retrieved_chunk_ids: tuple[IdText, ...] | None = None
    """The pieces of documents retrieved, best first."""
    retrieved_contexts: tuple[str, ...] | None = None
    """The texts retrieved, best first."""
    retrieved_context_doc_ids: tuple[IdText | None, ...] | None = None
    """The document of each text in `retrieved_contexts`; null where unknown."""
    evidence_source: Literal["stream", "side_channel", "trace"] | None = None
    """Where the evidence came from: the answer's stream, a request of its own, or a trace."""
    answer_status: AnswerStatus = "ok"
    """How the answer channel ended; `skipped`: it was never asked."""
    answer_error: ChannelError | None = None
    """Why the answer channel failed."""
    answer_attempts: Annotated[tuple[Attempt, ...], NullAsEmpty] = ()
    """The tries of the answer channel, in order."""
    answer_timings: Timings | None = None
    """When things happened in the answer channel's last try."""
    evidence_status: EvidenceStatus = "ok"
    """How the evidence channel ended; `skipped`: it was never asked."""
    evidence_error: ChannelError | None = None
    """Why the evidence channel failed."""
    evidence_attempts: Annotated[tuple[Attempt, ...], NullAsEmpty] = ()
    """The tries of the evidence channel, in order."""
    evidence_timings: Timings | None = None
    """When things happened in the evidence channel's last try."""
    ttft_ms: Milliseconds | None = None
    """Time to the first answer text that is not empty, in the answer channel's last try."""
    total_ms: Milliseconds | None = None
    """Time to the end of the answer channel's last try."""
    usage: Usage | None = None
    """Tokens as the server counted them, over all turns of all tries that told them; null where none did."""
    trace_ids: Annotated[dict[str, IdText], NullAsNoKeys] = Field(default_factory=dict)
    """The target's own ids of the exchange, by kind: to find it in the target's logs."""
    from_cache: bool = False
    """Whether the answer was taken from a cache instead of the target."""
    flags: Texts = ()
    """Remarks about what was odd in the exchange."""

    @property
    def calls_made(self) -> tuple[ToolCall, ...] | None:
        """The tools called, in order: `tool_calls`, else those of the turns; null where no call was told."""
        if self.tool_calls is not None:
            return self.tool_calls
        return tuple(call for turn in self.dialog for call in turn.tool_calls) or None
