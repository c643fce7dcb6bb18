"""What an answer tells beside its text: tool calls, documents, tokens, ids, intents, slots and steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from evalkit.contracts import Usage
from evalkit.net.wire import joined, storable
from evalkit.targets.channels import Reply
from evalkit.targets.http.calls import CallLog
from evalkit.targets.http.documents import DocIds, DocumentLog, intents
from evalkit.targets.http.paths import select
from evalkit.targets.http.rules import EventRule

__all__ = ["Findings", "Taken"]


class Taken(NamedTuple):
    """One thing that a frame gave: `text`, `reasoning`, `tool`, `documents`, `usage`, `id`, `end`, `status`, …"""

    what: str
    value: Any


class Findings:
    """What was told so far, put into the reply as it comes; what needs the end is put there by `end`."""

    def __init__(self, reply: Reply, doc_ids: DocIds) -> None:
        self._reply = reply
        self._documents = DocumentLog(doc_ids)
        self._calls = CallLog()
        self._usage: dict[str, int] = {}

    def end(self) -> None:
        """Put what was gathered from several events into the reply."""
        reply = self._reply
        reply.tools = self._calls.calls()
        reply.observed |= self._documents.observed()
        reply.sources = reply.observed.pop("retrieved_doc_ids", None)
        reply.usage = Usage(**self._usage) if self._usage else None
        reply.flags += dict.fromkeys(self._calls.flags)

    def take(self, rule: EventRule, data: Any) -> Iterator[Taken]:
        """Take in what the rule finds in the data."""
        if rule.tools:
            yield from (Taken("tool", name) for name in self._calls.take(rule.tools, data))
        if rule.documents and (found := self._documents.take(rule.documents, data)) is not None:
            yield Taken("documents", found)
        if rule.usage:
            counts = {f"{name}_tokens": select(path, data) for name, path in rule.usage if path}
            usage = {name: count for name, count in counts.items() if _is_count(count)}
            self._usage |= usage
            yield from [Taken("usage", usage)] if usage else []
        yield from self._told(rule, data)

    def _told(self, rule: EventRule, data: Any) -> Iterator[Taken]:
        for name, path in rule.ids.items():
            if (value := select(path, data)) not in (None, ""):
                self._reply.ids[name] = joined([str(value)]).text
                yield Taken("id", f"{name}={self._reply.ids[name]}")
        if (intent := storable(select(rule.intent, data))) is not None:
            self._reply.observed |= intents(intent)
            yield Taken("intent", intent)
        if (slots := storable(select(rule.slots, data))) is not None:
            self._reply.slots = _object(slots)
            yield Taken("slots", slots)
        if (steps := storable(select(rule.steps, data))) is not None:
            self._reply.steps = _names(steps)
            yield Taken("steps", steps)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"found slots of type {type(value).__name__}, wanted an object")  # noqa: TRY004
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(step, str) for step in value):
        raise ValueError("found steps that are no list of texts")
    return tuple(value)
