"""What the events of an answer mean: one rule an entry of `[[targets.NAME.answer.events]]`.

Every rule that fits an event is applied, in order; one event may carry text, a tool call and the end at once.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from evalkit.targets.http.paths import Path

__all__ = ["Documents", "EventRule", "Failure", "Mode", "Names", "Strict", "Tools", "UsagePaths"]

Mode = Literal["append", "cumulative", "replace", "final_repeat"]
"""What a text is to those before it: the next piece, all so far and more, instead of them, or all once again."""


def _listed(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class Strict(BaseModel):
    """A frozen table of which every key is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Documents(Strict):
    """Where documents are named; paths but `each` are read within one of them."""

    each: Path
    """The list of documents, best first, or an object of them; null: nothing is said of documents."""
    id: Path | None = None
    """The document's id."""
    name: Path | None = None
    """The document's file name; without its extension it is the id that counts, unless `doc_ids` is `id`."""
    chunk: Path | None = None
    """The id of the piece of it."""
    text: Path | None = None
    """The text of the piece."""
    mode: Literal["append", "replace"] = "append"
    """Whether these come after those named before, or instead of them."""


class Tools(Strict):
    """Where tool calls are told; paths but `each` and `scope` are read within one of them."""

    each: Path
    """The calls, or one call, or parts of them."""
    scope: Path | None = None
    """Of the whole event: what `key` is unique within."""
    key: Path | None = None
    """What parts of one call share: an index, an id."""
    id: Path | None = None
    """The call's id; its result may come under it."""
    name: Path | None = None
    """The tool; what goes on after the first name is no new one."""
    arguments: Path | None = None
    """The arguments: an object, or pieces of its JSON."""
    whole: bool = False
    """Whether `arguments` is all of them and takes the place of what came before."""
    result: Path | None = None
    """What the tool gave back."""
    error: Path | None = None
    """Why the tool failed."""


class UsagePaths(Strict):
    """Where tokens are counted; a later count takes the place of an earlier one."""

    prompt: Path | None = None
    """Tokens of the question and its context."""
    completion: Path | None = None
    """Tokens of the answer."""
    total: Path | None = None
    """Both together."""


class Failure(Strict):
    """What makes a JSON reply an error although its HTTP status is none."""

    when: Path
    """True where it is an error."""
    message: Path | None = None
    """What went wrong, in words."""
    code: Path | None = None
    """The target's own error code."""


class EventRule(Strict):
    """One meaning of an event."""

    event: Names = ()
    """Names of the events it is for, `*` in them for any characters; all events without it."""
    when: Path | None = None
    """A condition on the event's data."""
    after: Names = ()
    """Only once one of these events has come."""
    before: Names = ()
    """Only until one of these events has come."""
    text: Path | None = None
    """Text of the answer."""
    reasoning: Path | None = None
    """Text of the thoughts before it."""
    mode: Mode = "append"
    """What this text is to those before it."""
    mark: bool = False
    """The answer so far stands, whatever is dropped or repeated later."""
    reset: bool = False
    """The answer since the last mark is dropped."""
    thinking: bool | None = None
    """From here on `text` is thoughts (true), or the answer again (false)."""
    tools: Tools | None = None
    """Tool calls, or parts of them."""
    documents: Documents | None = None
    """Documents that were retrieved or cited."""
    usage: UsagePaths | None = None
    """Tokens."""
    ids: dict[str, Path] = Field(default={})
    """Ids by kind; `conversation_id` is sent with the next turn."""
    intent: Path | None = None
    """The predicted intent, or one for each sub-question."""
    slots: Path | None = None
    """The target's report of the slots filled."""
    steps: Path | None = None
    """The target's report of the steps done."""
    end: bool = False
    """The answer has come to its end."""
    status: Literal["incomplete", "cancelled", "rejected", "error"] | None = None
    """How the answer ended, where not well; the worst stands."""
    message: Path | None = None
    """Why, in words."""
    code: Path | None = None
    """Why, as the target's own code."""
    flag: str | None = Field(default=None, min_length=1)
    """A remark to put on the record."""
