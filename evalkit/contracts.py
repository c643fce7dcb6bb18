"""The nouns: what is asked (Case), what was seen (Observation), and both in one line (EvalRecord).

All are frozen and keep unknown fields, so that a file written by a newer evalkit, or by somebody else,
passes through unharmed. `null` means not given or not measured; an empty list or text means measured and
empty. Durations are milliseconds of a monotonic clock, times of day are UTC and only labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

__all__ = [
    "AnswerStatus",
    "Attempt",
    "Case",
    "ChannelError",
    "EvalRecord",
    "EvidenceStatus",
    "Expectation",
    "Manifest",
    "Mean",
    "MetricResult",
    "Observation",
    "RuleSpec",
    "SlotSpec",
    "StepSpec",
    "Timings",
    "ToolCall",
    "Turn",
    "Usage",
]

AnswerStatus = Literal["ok", "incomplete", "cancelled", "rejected", "error", "skipped"]
"""How the answer channel ended; `skipped` means that it was never asked."""

EvidenceStatus = Literal["ok", "error", "skipped"]
"""How the evidence channel ended; `skipped` means that it was never asked."""

Milliseconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SampleId = Annotated[str, Field(min_length=1, max_length=256, coerce_numbers_to_str=True)]
DocId = Annotated[str, Field(min_length=1, coerce_numbers_to_str=True)]


def _empty_if_null(value: object) -> object:
    """Null where a list is wanted: the file of somebody who writes every field. Nothing was given."""
    return () if value is None else value


NullAsEmpty = BeforeValidator(_empty_if_null)
DocIds = Annotated[tuple[DocId, ...], NullAsEmpty]
Texts = Annotated[tuple[str, ...], NullAsEmpty]


class _Frozen(BaseModel):
    """A frozen value that keeps the fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True, allow_inf_nan=False)


def _user_text(message: object) -> object:
    """A user turn given as chat message, lifted to its text."""
    if isinstance(message, Mapping) and message.get("role") == "user":
        return message.get("content")
    return message


UserTurn = Annotated[str, BeforeValidator(_user_text)]


class SlotSpec(_Frozen):
    """A piece of information that the dialog must gather.

    `value` is the right value where there is one, `aliases` are other ways to write it, `pattern` is a
    regular expression for any acceptable value, `type` names a kind of value (phone, date, order_id, …).
    """

    name: str = Field(min_length=1)
    description: str | None = None
    value: JsonValue = None
    aliases: tuple[str, ...] = ()
    pattern: str | None = None
    type: str | None = None


class StepSpec(_Frozen):
    """Something that the agent must do; it counts only once the steps named in `after` are done.

    A step is done when the agent says one of `keywords` or calls `tool`.
    """

    name: str = Field(min_length=1)
    description: str | None = None
    after: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    tool: str | None = None


class ToolCall(_Frozen):
    """One call of a tool, expected or made: arguments, then result or error, and how long it took."""

    name: str = Field(min_length=1, validation_alias=AliasChoices("name", "tool", "tool_name"))
    arguments: dict[str, JsonValue] = Field(
        default_factory=dict, validation_alias=AliasChoices("arguments", "args", "parameters")
    )
    result: JsonValue = None
    error: str | None = None
    latency_ms: Milliseconds | None = None


class RuleSpec(_Frozen):
    """A rule to hold a case against: its wire name, its parameters, its weight among the others."""

    type: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    weight: float = Field(default=1.0, ge=0)


class Expectation(_Frozen):
    """What must hold whatever the rules say: each given field is a hard rule."""

    behavior: str | None = None
    keywords: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    max_latency_ms: Milliseconds | None = None
    should_succeed: bool | None = None


def _expectation(value: object) -> object:
    """An expectation given as one sentence, lifted to its `behavior`."""
    return {"behavior": value} if isinstance(value, str) else value


class Case(_Frozen):
    """What we ask, with its gold labels: one line of an eval set.

    A case asks one `query`, or several user turns in `messages`. Gold documents are sets:
    `reference_doc_ids` must be found, `reference_doc_ids_nice` may be.
    """

    sample_id: SampleId = Field(validation_alias=AliasChoices("sample_id", "query_id", "id"))
    query: str = Field(default="", validation_alias=AliasChoices("query", "user_input", "question"))
    messages: Annotated[tuple[UserTurn, ...], NullAsEmpty] = ()
    reference: str | None = Field(default=None, validation_alias=AliasChoices("reference", "ground_truth"))
    intent_l1: str | None = None
    intent_l2: str | None = None
    requires_rag: bool | None = None
    reference_doc_ids: DocIds = Field(
        default=(), validation_alias=AliasChoices("reference_doc_ids", "expected_doc_ids")
    )
    reference_doc_ids_nice: DocIds = Field(
        default=(), validation_alias=AliasChoices("reference_doc_ids_nice", "expected_doc_ids_nice")
    )
    difficulty: str | None = None
    tags: Texts = ()
    trap_type: str | None = None
    asked_at: datetime | None = None
    required_slots: Annotated[tuple[SlotSpec, ...], NullAsEmpty] = ()
    required_steps: Annotated[tuple[StepSpec, ...], NullAsEmpty] = ()
    expected_tools: tuple[ToolCall, ...] | None = None
    expected_turns: int | None = Field(default=None, ge=1)
    rules: tuple[RuleSpec, ...] = Field(default=(), validation_alias=AliasChoices("rules", "eval_rules"))
    rule_logic: Literal["all", "any", "weighted"] = "all"
    rule_pass_threshold: float | None = Field(default=None, ge=0, le=1)
    expectation: Annotated[Expectation | None, BeforeValidator(_expectation)] = None

    @property
    def user_turns(self) -> tuple[str, ...]:
        """What the user says, in order: `messages`, or `query` alone."""
        return self.messages or (self.query,)

    @property
    def needs_retrieval(self) -> bool | None:
        """Whether an answer needs documents; a case with gold documents does, even where nobody said so."""
        if self.requires_rag is None and self.reference_doc_ids:
            return True
        return self.requires_rag


class ChannelError(_Frozen):
    """Why a channel failed: a stable `kind` (`deadline.total`, `http_status`, …) and the details."""

    kind: str
    message: str = ""
    http_status: int | None = None
    code: str | None = None
    body: str | None = None


class Attempt(_Frozen):
    """One try of a channel; only the last one's timings become the record's."""

    status: str
    total_ms: Milliseconds | None = None
    error: ChannelError | None = None


class Timings(_Frozen):
    """When things happened in one exchange, in ms after the request left; null where they did not.

    `queue_ms` and `connect_ms` are the waits before that. `first_text_ms` is the first non-empty answer
    text, `first_reasoning_ms` the first non-empty thought.
    """

    queue_ms: Milliseconds | None = None
    connect_ms: Milliseconds | None = None
    headers_ms: Milliseconds | None = None
    first_byte_ms: Milliseconds | None = None
    first_event_ms: Milliseconds | None = None
    first_reasoning_ms: Milliseconds | None = None
    first_text_ms: Milliseconds | None = None
    last_text_ms: Milliseconds | None = None
    end_ms: Milliseconds | None = None
    text_chunks: int | None = Field(default=None, ge=0)
    events: int | None = Field(default=None, ge=0)
    reused_connection: bool | None = None


class Usage(_Frozen):
    """Tokens as the server counted them; never estimated."""

    prompt_tokens: int | None = Field(default=None, ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    total_tokens: int | None = Field(default=None, ge=0)


class Turn(_Frozen):
    """One exchange of a dialog: what was sent, what came back."""

    sent_message: str = ""
    reply: str = ""
    thinking: str | None = None
    status: AnswerStatus = "ok"
    ttft_ms: Milliseconds | None = None
    latency_ms: Milliseconds | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    intent_pred: str | None = None
    retrieved_doc_ids: tuple[str, ...] | None = None
    filled_slots: dict[str, JsonValue] | None = None


class Observation(_Frozen):
    """What happened when a case was run: all that a target gives back.

    A channel without a status is `ok`: a record written by hand need not mention what went right.
    `ttft_ms` and `total_ms` are the headline figures of the answer channel's last attempt.
    `filled_slots` is the target's own report, null where it makes none.
    """

    response: str | None = None
    thinking: str | None = None
    dialog: tuple[Turn, ...] = ()
    tool_calls: tuple[ToolCall, ...] | None = None
    filled_slots: dict[str, JsonValue] | None = None
    done_steps: tuple[str, ...] | None = None
    intent_pred: str | None = None
    intent_pred_all: Annotated[tuple[str | None, ...], NullAsEmpty] = ()
    sub_questions: Texts = ()
    retrieved_doc_ids: tuple[DocId, ...] | None = Field(
        default=None, validation_alias=AliasChoices("retrieved_doc_ids", "retrieved_doc_ids_raw")
    )
    retrieved_chunk_ids: tuple[str, ...] | None = None
    retrieved_contexts: tuple[str, ...] | None = None
    retrieved_context_doc_ids: tuple[str | None, ...] | None = None
    evidence_source: Literal["stream", "side_channel", "trace"] | None = None
    answer_status: AnswerStatus = "ok"
    answer_error: ChannelError | None = None
    answer_attempts: tuple[Attempt, ...] = ()
    answer_timings: Timings | None = None
    evidence_status: EvidenceStatus = "ok"
    evidence_error: ChannelError | None = None
    evidence_attempts: tuple[Attempt, ...] = ()
    evidence_timings: Timings | None = None
    ttft_ms: Milliseconds | None = None
    total_ms: Milliseconds | None = None
    usage: Usage | None = None
    trace_ids: dict[str, str] = Field(default_factory=dict)
    from_cache: bool = False
    flags: tuple[str, ...] = ()


class EvalRecord(Case, Observation):
    """What happened when a case was run: the case and its observation in one line of a run."""

    run_id: str | None = None
    repeat: int = Field(default=0, ge=0)
    started_at: datetime | None = None

    @model_validator(mode="before")
    @classmethod
    def _first_prediction(cls, data: Any) -> Any:
        """Fill `intent_pred` with the first non-empty of `intent_pred_all` where only that was given."""
        if not isinstance(data, Mapping) or data.get("intent_pred") or not data.get("intent_pred_all"):
            return data
        first = next((intent for intent in data["intent_pred_all"] if intent), None)
        return {**data, "intent_pred": first}

    @property
    def key(self) -> str:
        """The sample's identity within a run: `sample_id`, with `#n` for the n-th repeat."""
        return f"{self.sample_id}#{self.repeat}" if self.repeat else self.sample_id


class Manifest(_Frozen):
    """What is known of a run beside its records: `runs/<run_id>.meta.json`."""

    run_id: str
    state: Literal["running", "complete", "interrupted"] = "running"
    eval_set: str
    eval_set_sha256: str
    target: str
    target_config: dict[str, JsonValue] = Field(default_factory=dict)
    evalkit_version: str
    started_at: datetime
    finished_at: datetime | None = None
    cases: int = 0
    planned: int = 0
    recorded: int = 0
    answer_ok: int = 0
    evidence_ok: int = 0
    selection: dict[str, JsonValue] = Field(default_factory=dict)
    settings: dict[str, JsonValue] = Field(default_factory=dict)


class Mean(float):
    """A mean that does not part from its denominator: `n_counted` of `n_total` samples went into it."""

    __slots__ = ("n_counted", "n_total")
    n_counted: int
    n_total: int

    def __new__(cls, value: float, n_counted: int, n_total: int) -> Self:
        """The mean `value` of `n_counted` scores among `n_total` samples."""
        mean = super().__new__(cls, value)
        mean.n_counted = n_counted
        mean.n_total = n_total
        return mean


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One metric over one run: the four answers of `slice_mean`, under the metric's name.

    `overall` and the slices are null where nothing was counted. `per_sample` has one entry a sample, null
    where the sample does not count. `is_pct` only formats; `is_rate` says that every score is 0 or 1, so
    that the mean is a binomial rate; `version` changes when the definition does.
    """

    name: str
    overall: Mean | None
    by_intent_l1: Mapping[str, Mean | None]
    by_intent_l2: Mapping[str, Mean | None]
    per_sample: Mapping[str, float | None]
    is_pct: bool = False
    is_rate: bool = False
    lower_is_better: bool = False
    version: int = 1
