"""What one answer stream of Ragent says: text, thoughts, tools, sources, state, and how it ended.

Ragent closes the connection without a word when its model fails, so an end without `finish`,
`cancel` or `done` is never a good one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evalkit.contracts import ChannelError
from evalkit.net.exchange import Arrival, Exchange, timings
from evalkit.net.wire import decoded, excerpt, joined, storable
from evalkit.targets.channels import Reply
from evalkit.targets.ragent.tools import ToolLog

__all__ = ["doc_code", "read_reply"]

_ENDS = {"finish", "cancel", "done"}
_MANY_TEXTS = 3  # more pieces than this in a single read of the socket were held back somewhere


def read_reply(seen: Exchange) -> Reply:
    """The reply that the events of `seen` make up."""
    reading = _Reading()
    for arrival in seen.events:
        reading.take(arrival)
    reading.end(seen)
    return reading.reply


class _Reading:
    """One stream, read event by event."""

    def __init__(self) -> None:
        self.reply = Reply()
        self.texts: list[str] = []
        self.thoughts: list[str] = []
        self.texts_at: list[float] = []
        self.thoughts_at: list[float] = []
        self.tools = ToolLog()
        self.ended = False

    def take(self, arrival: Arrival) -> None:
        """Take in one event; one that cannot be read makes the answer an error, and reading goes on."""
        name, text = arrival.event.event, arrival.event.data
        self.ended |= name in _ENDS
        if name == "error":
            error = ChannelError(kind="stream_error", message="found an error event.", body=excerpt(text))
            self.reply.worsen("error", error)
        elif name in _HANDLERS:
            try:
                _HANDLERS[name](self, _payload(text), arrival.arrived_at)
            except ValueError as why:
                message = f"event {name}: {why}."
                self.reply.worsen(
                    "error", ChannelError(kind="bad_event", message=message, body=excerpt(text))
                )

    def end(self, seen: Exchange) -> None:
        """Draw the sums once the exchange is over."""
        reply, whole, thinking = self.reply, joined(self.texts), joined(self.thoughts)
        reply.text = whole.text
        reply.thinking = thinking.text if self.thoughts else None
        reply.tools = self.tools.calls()
        reply.retry_after = seen.retry_after
        reply.timings = timings(seen, texts_at=self.texts_at, thoughts_at=self.thoughts_at)
        self._judge_end(seen)
        if whole.lone_surrogate or thinking.lone_surrogate:
            reply.flags.append("lone_surrogate")
        if seen.bad_utf8:
            reply.flags.append("invalid_utf8")
        if len(self.texts) > _MANY_TEXTS and len(set(self.texts_at)) == 1:
            reply.flags.append("buffered_stream")

    def _judge_end(self, seen: Exchange) -> None:
        if seen.error is not None and seen.error.kind == "incomplete_read" and self.ended:
            self.reply.flags.append("unclean_end")  # all was said; only the framing of the end is missing
        elif seen.error is not None:
            self.reply.worsen("error", seen.error)
        elif not self.ended:
            message = "the stream ended without finish, cancel or done."
            tail = excerpt(seen.tail) or None
            self.reply.worsen("incomplete", ChannelError(kind="incomplete", message=message, body=tail))


def _payload(text: str) -> dict[str, Any]:
    value = decoded(text)
    if not isinstance(value, dict):
        raise ValueError(f"found {type(value).__name__}, wanted an object")  # noqa: TRY004 - a bad value of the target
    return value


def _delta(data: dict[str, Any]) -> str:
    delta = data.get("delta")
    if delta is not None and not isinstance(delta, str):
        raise ValueError(f"found delta of type {type(delta).__name__}, wanted text")
    return delta or ""


def _meta(reading: _Reading, data: dict[str, Any], _at: float) -> None:
    for name in ("conversationId", "taskId"):
        if data.get(name) is not None:
            reading.reply.ids[name] = joined([str(data[name])]).text


def _message(reading: _Reading, data: dict[str, Any], at: float) -> None:
    delta, kind = _delta(data), data.get("type")
    if kind not in ("response", "think"):
        raise ValueError(f"found type {kind!r}, wanted response or think")
    if delta:
        thought = kind == "think"
        (reading.thoughts if thought else reading.texts).append(delta)
        (reading.thoughts_at if thought else reading.texts_at).append(at)


def _reject(reading: _Reading, data: dict[str, Any], _at: float) -> None:
    reading.reply.worsen("rejected", ChannelError(kind="rejected", message=joined([_delta(data)]).text))


def _finish(reading: _Reading, data: dict[str, Any], _at: float) -> None:
    reply, status = reading.reply, data.get("messageStatus")
    if status == "REJECTED":
        reply.worsen("rejected", ChannelError(kind="rejected", message="finish says REJECTED."))
    elif status == "INTERRUPTED":
        reply.worsen("cancelled", ChannelError(kind="cancelled", message="finish says INTERRUPTED."))
    _take_sources(reply, storable(data.get("sources")))
    _take_state(reply, storable(data.get("state")))


def _cancel(reading: _Reading, data: dict[str, Any], at: float) -> None:
    reading.reply.worsen("cancelled", ChannelError(kind="cancelled", message="the stream was cancelled."))
    _finish(reading, data, at)


def _tool(reading: _Reading, data: dict[str, Any], _at: float) -> None:
    reading.tools.take(storable(data))


def _hint(reading: _Reading, data: dict[str, Any], _at: float) -> None:
    if data.get("code") == "MAX_ITERATIONS":
        reading.reply.flags.append("max_iterations")


_HANDLERS: dict[str, Callable[[_Reading, dict[str, Any], float], None]] = {
    "meta": _meta,
    "message": _message,
    "reject": _reject,
    "finish": _finish,
    "cancel": _cancel,
    "tool": _tool,
    "hint": _hint,
}


def _take_sources(reply: Reply, sources: Any) -> None:
    """The documents that the answer was made from, best first; entries without a name have no code."""
    if sources is None:
        return
    if not isinstance(sources, list) or not all(isinstance(source, dict) for source in sources):
        reply.flags.append("bad_sources")
        return
    named = [source["docName"] for source in sources if isinstance(source.get("docName"), str)]
    reply.sources = tuple(code for code in map(doc_code, named) if code)


def doc_code(name: str) -> str:
    """The business code of a document: its file name without the last extension."""
    stem, dot, _ = name.rpartition(".")
    return stem if dot else name


def _take_state(reply: Reply, state: Any) -> None:
    """The agent's own report of what it has gathered and done."""
    if state is None:
        return
    if _is_state(state):
        steps = state.get("doneSteps")
        reply.slots, reply.steps = state.get("filledSlots"), None if steps is None else tuple(steps)
    else:
        reply.flags.append("bad_state")


def _is_state(state: Any) -> bool:
    if not isinstance(state, dict) or not isinstance(state.get("filledSlots", {}), dict):
        return False
    steps = state.get("doneSteps", [])
    return isinstance(steps, list) and all(isinstance(step, str) for step in steps)
