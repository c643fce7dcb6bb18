"""A target as data: what is sent over each channel, and how what comes back is read.

A table [targets.NAME] of `evalkit.toml`, or a file of the folder presets. Unknown keys are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from evalkit.net.keys import checked_reference
from evalkit.targets.http.paths import Path
from evalkit.targets.http.rules import Documents, EventRule, Failure, Names, Strict
from evalkit.targets.http.templates import placeholders

__all__ = ["AnswerSpec", "EvidenceSpec", "Parameter", "RequestSpec", "TargetSpec"]

_RUNTIME = frozenset(
    {"query", "sample_id", "asked_at", "messages", "history", "turn", "dialog_id", "conversation_id"}
)
"""What a template may name of the case and its conversation."""

_MESSAGE = frozenset({"role", "content", "index"})
_IDENTIFYING = re.compile(r"authorization|cookie|api-?key|token|secret|password", re.IGNORECASE)
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def _reference(value: str) -> str:
    return checked_reference(value, place="secrets") if value else value


Reference = Annotated[str, AfterValidator(_reference)]


class Parameter(Strict):
    """What `--set` may set."""

    about: str = ""
    """What it means, in one line."""
    default: JsonValue = None
    """Its value unless set; a parameter without one must be set, unless it is optional."""
    optional: bool = False
    """Whether it may stay unset: what is made of it alone is then left out of the request."""

    @property
    def needed(self) -> bool:
        """Whether it must be set."""
        return self.default is None and not self.optional


class RequestSpec(Strict):
    """A request as a template."""

    method: str = "POST"
    """The method."""
    url: str
    """The address; values in it are written as one segment, but for the one that it begins with."""
    query: dict[str, JsonValue] = Field(default={})
    """The query, by name."""
    headers: dict[str, str] = Field(default={})
    """Headers; one with a value that is unset is left out."""
    body: JsonValue = None
    """The JSON body; none without it."""

    @model_validator(mode="after")
    def _no_secret_in_plain(self) -> Self:
        for name, value in self.headers.items():
            if _IDENTIFYING.search(name) and not any(placeholders(value)):
                raise ValueError(f"header {name}: wanted a placeholder of a secret, such as {{key}}")
        return self


class AnswerSpec(RequestSpec):
    """The answer channel: one request a turn."""

    framing: Literal["sse", "coded_lines", "lines", "json"] = "sse"
    """How the response is cut into events: server-sent events, lines `CODE:JSON`, JSON a line, one JSON."""
    content_types: Names = ()
    """Content types to take; those that are usual for the framing without it."""
    bare_events: bool = False
    """Whether a server-sent event that has a name and no data counts."""
    name_from: Literal["frame", "json", "none"] = "frame"
    """Where an event's name is: in the frame, in its JSON, nowhere."""
    name: Path = "event"
    """With `name_from` json, the path of the name."""
    data: Literal["json", "text"] = "json"
    """What the data of an event is."""
    sentinels: Names = ()
    """Data that is no JSON of the format but its end, such as [DONE]."""
    ends_with_connection: bool = False
    """Whether the end of the response is a good end, with no closing event before it."""
    think_tags: bool = False
    """Whether thoughts stand inside the text, between <think> and </think>."""
    message: dict[str, JsonValue] = Field(default={"role": "{role}", "content": "{content}"})
    """One message of `{messages}` and `{history}`; it may name role, content and index."""
    system: str = ""
    """A template: the message of the role `system` at the head of `{messages}`; none where it is unset."""
    assistant: str = "assistant"
    """The role of the target's own messages."""
    events: tuple[EventRule, ...] = ()
    """What events mean."""


class EvidenceSpec(RequestSpec):
    """The evidence channel: a request of its own, after the answer, for the first turn's question."""

    source: Literal["side_channel", "trace"] = "side_channel"
    """What is asked: a second run of the retrieval, or the trace of the answer."""
    until: Path | None = None
    """Asked again until this is true of the reply: traces are written late."""
    every_s: float = Field(default=0.5, gt=0)
    """The pause before it is asked again, in seconds."""
    within_s: float = Field(default=15, gt=0)
    """How long it is asked again, in seconds."""
    failures: tuple[Failure, ...] = ()
    """What makes the reply an error."""
    documents: Documents | None = None
    """The documents retrieved."""
    intent: Path | None = None
    """The predicted intent, or one for each sub-question."""
    sub_questions: Path | None = None
    """The questions that the query was split into."""
    ids: dict[str, Path] = Field(default={})
    """Ids by kind, to find the request in the target's logs."""


class TargetSpec(Strict):
    """A target behind HTTP."""

    about: str = ""
    """What it is, in one line."""
    parameters: dict[str, Parameter] = Field(default={})
    """What `--set` may set, by name; templates name them."""
    secrets: dict[str, Reference] = Field(default={})
    """Keys by name, each as env:NAME or file:PATH, or empty for none; templates name them."""
    answer: AnswerSpec
    """The answer channel."""
    evidence: EvidenceSpec | None = None
    """The evidence channel, where the answer does not name its documents itself."""

    @model_validator(mode="after")
    def _names_hold(self) -> Self:
        own = [*self.parameters, *self.secrets]
        for name in own:
            if not _NAME.fullmatch(name) or name in _RUNTIME or own.count(name) > 1:
                raise ValueError(f"{name}: wanted a name of small letters that nothing else has")
        ids = {name for rule in self.answer.events for name in rule.ids}
        known = {*own, *_RUNTIME, *ids}
        _check(chain(_wanted(self.answer), placeholders(self.answer.system)), known)
        _check(placeholders(self.answer.message), _MESSAGE)
        if self.evidence:
            _check(_wanted(self.evidence), known)
        return self


def _wanted(request: RequestSpec) -> Iterator[str]:
    return placeholders([request.url, request.query, request.headers, request.body])


def _check(wanted: Iterator[str], known: set[str] | frozenset[str]) -> None:
    for name in wanted:
        if name not in known and not name.startswith("case."):
            raise ValueError(f"{{{name}}}: unknown placeholder, wanted one of {', '.join(sorted(known))}")
