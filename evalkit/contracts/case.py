"""What we ask, with its gold labels."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AliasChoices, BeforeValidator, Field, JsonValue

from evalkit.contracts.values import (
    DocId,
    Frozen,
    Milliseconds,
    NullAsEmpty,
    NullAsNoKeys,
    SampleId,
    ToolCall,
)

__all__ = ["Case", "Expectation", "Layer", "RuleSpec", "SlotSpec", "StepSpec"]

Layer = Literal["intent", "completion"]
"""The layers of an outcome that a rule can tell: was the intent understood, how much of the task was done."""


def _user_text(message: object) -> object:
    """A user turn given as chat message, lifted to its text."""
    if isinstance(message, Mapping) and message.get("role") == "user":
        return message.get("content")
    return message


def _expectation(value: object) -> object:
    """An expectation given as one sentence, lifted to its `behavior`."""
    return {"behavior": value} if isinstance(value, str) else value


UserTurn = Annotated[str, BeforeValidator(_user_text)]
DocIds = Annotated[tuple[DocId, ...], NullAsEmpty]
Texts = Annotated[tuple[str, ...], NullAsEmpty]


class SlotSpec(Frozen):
    """A piece of information that the dialog must gather."""

    name: str = Field(min_length=1)
    """The slot."""
    description: str | None = None
    """What it stands for, in words."""
    value: JsonValue = None
    """The right value, where there is one."""
    aliases: Texts = ()
    """Other ways to write the value."""
    pattern: str | None = None
    """A regular expression that any acceptable value matches."""
    type: str | None = None
    """The kind of value: `phone`, `date`, `order_id`, …"""
    values: Texts = ()
    """The values it may take, where they can be listed: the type `enum`."""


class StepSpec(Frozen):
    """Something that the agent must do: it is done when the agent says a keyword or calls the tool."""

    name: str = Field(min_length=1)
    """The step."""
    description: str | None = None
    """What it stands for, in words."""
    after: Texts = ()
    """The steps that must be done before this one counts."""
    keywords: Texts = ()
    """Words of which the agent says one when it does the step."""
    tool: str | None = None
    """The tool that does the step."""


class RuleSpec(Frozen):
    """A rule to hold a case against."""

    type: str
    """The rule's wire name."""
    params: Annotated[dict[str, JsonValue], NullAsNoKeys] = Field(default_factory=dict)
    """The rule's parameters."""
    weight: float = Field(default=1.0, gt=0)
    """Its weight among the other rules, where `rule_logic` is `weighted`."""
    layer: Layer | None = None
    """What of the outcome its verdict tells; `intent_classification` and `task_completion` tell theirs unasked."""


class Expectation(Frozen):
    """What must hold whatever the rules say: each given field is a hard rule, `behavior` where a judge is asked."""

    behavior: str | None = None
    """What the target should do, in words, for a judge to say whether it did; one sentence alone is read as this."""
    keywords: Texts = ()
    """Words that the answer must hold."""
    forbidden: Texts = ()
    """Words that the answer must not hold."""
    max_latency_ms: Milliseconds | None = None
    """The longest acceptable answer time."""
    should_succeed: bool | None = None
    """Whether the target should be able to do it at all."""


class Case(Frozen):
    """What we ask, with its gold labels: one line of an eval set.

    A case asks one `query`, or several user turns in `messages`. Gold documents are sets.
    """

    sample_id: SampleId = Field(validation_alias=AliasChoices("sample_id", "query_id", "id"))
    """The case's name, unique in its eval set, a text or a whole number; also read from `query_id`, `id`."""
    query: str = Field(default="", validation_alias=AliasChoices("query", "user_input", "question"))
    """The user's question; also read from `user_input`, `question`."""
    messages: Annotated[tuple[UserTurn, ...], NullAsEmpty] = ()
    """The user's turns of a dialog, in order, as texts or as chat messages of the role `user`."""
    reference: str | None = Field(default=None, validation_alias=AliasChoices("reference", "ground_truth"))
    """The gold answer; also read from `ground_truth`."""
    intent_l1: str | None = None
    """The gold intent, first level."""
    intent_l2: str | None = None
    """The gold intent, second level: what `intent_pred` is held against."""
    requires_rag: bool | None = None
    """Whether an answer needs documents."""
    reference_doc_ids: DocIds = Field(
        default=(), validation_alias=AliasChoices("reference_doc_ids", "expected_doc_ids")
    )
    """The documents that must be found; also read from `expected_doc_ids`."""
    reference_doc_ids_nice: DocIds = Field(
        default=(), validation_alias=AliasChoices("reference_doc_ids_nice", "expected_doc_ids_nice")
    )
    """The documents that may be found; also read from `expected_doc_ids_nice`."""
    difficulty: str | None = None
    """How hard the case is: `easy`, `medium`, `hard`, or words of your own."""
    tags: Texts = ()
    """Any labels to slice by."""
    trap_type: str | None = None
    """What makes the case tricky: a near intent, a typo, two questions in one, …"""
    asked_at: datetime | None = None
    """The moment to which words such as tomorrow refer."""
    required_slots: Annotated[tuple[SlotSpec, ...], NullAsEmpty] = ()
    """What the dialog must gather."""
    required_steps: Annotated[tuple[StepSpec, ...], NullAsEmpty] = ()
    """What the agent must do."""
    expected_tools: tuple[ToolCall, ...] | None = None
    """The tool calls that should be made; empty: none should, null: nobody said."""
    expected_turns: int | None = Field(default=None, ge=1)
    """How many turns the dialog should take."""
    rules: Annotated[tuple[RuleSpec, ...], NullAsEmpty] = Field(
        default=(), validation_alias=AliasChoices("rules", "eval_rules")
    )
    """The rules to hold the case against; also read from `eval_rules`."""
    rule_logic: Literal["all", "any", "weighted"] = "all"
    """How the rules' verdicts become one."""
    rule_pass_threshold: float | None = Field(default=None, ge=0, le=1)
    """The weighted score at which the case passes."""
    expectation: Annotated[Expectation | None, BeforeValidator(_expectation)] = None
    """What must hold whatever the rules say."""

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
