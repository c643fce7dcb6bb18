"""What the frames of one answer say, by the rules of its target: the reply, and what was taken from which frame.

Beside the errors of every exchange there are `stream_error` (a rule of status error), `rejected`, `cancelled`,
`incomplete` (also: the stream ended without a closing event), and `bad_event` (an event that cannot be read as
its rule wants it). Flags: those of the rules, `rewritten`, `final_differs`, `lone_surrogate`, `unclean_end`,
`buffered_stream`, `invalid_utf8`, `bad_tool_call`, `bad_tool_arguments`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from evalkit.contracts import AnswerStatus, ChannelError
from evalkit.net.exchange import Arrival, Exchange, timings
from evalkit.net.wire import decoded, excerpt, storable
from evalkit.targets.channels import Reply
from evalkit.targets.http.documents import DocIds
from evalkit.targets.http.findings import Findings, Taken
from evalkit.targets.http.paths import select
from evalkit.targets.http.rules import EventRule
from evalkit.targets.http.spec import AnswerSpec
from evalkit.targets.http.transcript import Transcript

__all__ = ["Frame", "Reading", "read_reply"]

_MANY_TEXTS = 3  # more pieces than this in a single read of the socket were held back somewhere
_KINDS: dict[AnswerStatus, str] = {"error": "stream_error"}


class Frame(NamedTuple):
    """One frame of a response: when it came, in seconds of the monotonic clock, and what was taken from it."""

    arrived_at: float
    name: str
    size: int
    taken: tuple[Taken, ...]


def read_reply(seen: Exchange, spec: AnswerSpec, doc_ids: DocIds) -> tuple[Reply, list[Frame]]:
    """The reply that the frames of `seen` make up, and the frames."""
    reading = Reading(spec, doc_ids)
    if spec.framing == "json" and seen.error is None:
        frames = [reading.whole(seen.reply, seen.ended_at)]
    else:
        frames = [reading.take(arrival) for arrival in seen.events]
    reading.end(seen)
    return reading.reply, frames


class Reading:
    """One response, read frame by frame; `reply` is complete after `end`."""

    def __init__(self, spec: AnswerSpec, doc_ids: DocIds) -> None:
        self.reply = Reply()
        self.ended = False
        self.transcript = Transcript(think_tags=spec.think_tags)
        self.findings = Findings(self.reply, doc_ids)
        self._spec = spec
        self._thinking = False
        self._names: set[str] = set()
        self._rules_of: dict[str, list[EventRule]] = {}

    def take(self, arrival: Arrival) -> Frame:
        """Take in one frame; one that cannot be read makes the answer an error, and reading goes on."""
        event, taken = arrival.event, list[Taken]()
        name = event.event if self._spec.name_from == "frame" else ""
        try:
            if event.data.strip() in self._spec.sentinels:
                self.ended = True
                taken.append(Taken("end", event.data))
            elif self._spec.name_from != "frame" or self._rules(name):
                name, data = self._read(name, event.data)
                taken += self._apply(name, data, arrival.arrived_at)
        except ValueError as why:
            taken.append(self._bad(name, why, event.data))
        return Frame(arrival.arrived_at, name, len(event.data), tuple(taken))

    def whole(self, value: Any, at: float) -> Frame:
        """Take in a reply that is one JSON value, and the end of it."""
        self.ended = True
        try:
            taken = tuple(self._apply("", value, at))
        except ValueError as why:
            taken = (self._bad("reply", why, ""),)
        return Frame(at, "", 0, taken)

    def end(self, seen: Exchange) -> None:
        """Draw the sums once the exchange is over."""
        reply, said = self.reply, self.transcript
        said.end(seen.events[-1].arrived_at if seen.events else seen.ended_at)
        reply.text, reply.thinking = said.text, said.thinking
        self.findings.end()
        reply.retry_after = seen.retry_after
        streamed = self._spec.framing != "json"
        reply.timings = timings(
            seen,
            texts_at=said.texts_at if streamed else None,
            thoughts_at=said.thoughts_at if streamed else (),
        )
        self._judge_end(seen)
        self._remark(seen)

    def _remark(self, seen: Exchange) -> None:
        said = self.transcript
        self.reply.flags += dict.fromkeys(said.flags)
        self.reply.flags += ["invalid_utf8"] if seen.bad_utf8 else []
        if len(said.texts_at) > _MANY_TEXTS and len(set(said.texts_at)) == 1 and self._spec.framing != "json":
            self.reply.flags.append("buffered_stream")

    def _judge_end(self, seen: Exchange) -> None:
        if seen.error is not None and seen.error.kind == "incomplete_read" and self.ended:
            self.reply.flags.append("unclean_end")  # all was said; only the framing of the end is missing
        elif seen.error is not None:
            self.reply.worsen("error", seen.error)
        elif not self.ended and not (self._spec.ends_with_connection and seen.events):
            tail = excerpt(seen.tail) or None
            message = "the stream ended without a closing event."
            self.reply.worsen("incomplete", ChannelError(kind="incomplete", message=message, body=tail))

    def _rules(self, name: str) -> list[EventRule]:
        if name not in self._rules_of:
            self._rules_of[name] = [
                rule for rule in self._spec.events if not rule.event or _among(name, rule.event)
            ]
        return self._rules_of[name]

    def _read(self, name: str, text: str) -> tuple[str, Any]:
        if self._spec.data == "text":
            return name, text
        data = decoded(text) if text.strip() else None
        if self._spec.name_from == "json":
            found = select(self._spec.name, data)
            name = found if isinstance(found, str) else ""
        return name, data

    def _apply(self, name: str, data: Any, at: float) -> Iterator[Taken]:
        for rule in self._rules(name):
            if self._in_turn(rule) and (rule.when is None or _true(select(rule.when, data))):
                yield from self._texts(rule, data, at)
                yield from self.findings.take(rule, data)
                yield from self._ending(rule, data)
        self._names.add(name)

    def _in_turn(self, rule: EventRule) -> bool:
        after = not rule.after or any(_among(name, rule.after) for name in self._names)
        return after and not any(_among(name, rule.before) for name in self._names)

    def _texts(self, rule: EventRule, data: Any, at: float) -> Iterator[Taken]:
        self._turn(rule)
        thought, text = _text(rule.reasoning, data), _text(rule.text, data)
        if thought is not None and (new := self.transcript.think(thought, at, rule.mode)):
            yield Taken("reasoning", new)
        say = self.transcript.think if self._thinking else self.transcript.say
        if text is not None and (new := say(text, at, rule.mode)):
            yield Taken("reasoning" if self._thinking else "text", new)

    def _turn(self, rule: EventRule) -> None:
        """Do what concerns the texts before and after this one."""
        if rule.reset:
            self.transcript.reset()
        if rule.mark:
            self.transcript.mark()
        self._thinking = self._thinking if rule.thinking is None else rule.thinking

    def _ending(self, rule: EventRule, data: Any) -> Iterator[Taken]:
        if rule.end:
            self.ended = True
            yield Taken("end", None)
        if rule.flag:
            self.reply.flags.append(rule.flag)
            yield Taken("flag", rule.flag)
        if rule.status:
            told = storable(select(rule.message, data))
            code = storable(select(rule.code, data))
            error = ChannelError(
                kind=_KINDS.get(rule.status, rule.status),
                message="" if told is None else excerpt(str(told)),
                code=None if code is None else excerpt(str(code)),
                body=None if told else excerpt(str(storable(data))),
            )
            self.reply.worsen(rule.status, error)
            yield Taken("status", f"{rule.status}: {error.message}")

    def _bad(self, name: str, why: ValueError, text: str) -> Taken:
        message = f"event {name or '(unnamed)'}: {why}."
        self.reply.worsen(
            "error", ChannelError(kind="bad_event", message=excerpt(message), body=excerpt(text) or None)
        )
        return Taken("bad_event", message)


def _among(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _true(value: Any) -> bool:
    """Truth as JMESPath has it: null, false and what is empty are not; zero is."""
    return value is not None and value is not False and value not in ("", [], {})


def _text(path: str | None, data: Any) -> str | None:
    found = select(path, data)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{path}: found {type(found).__name__}, wanted text")
    return found
