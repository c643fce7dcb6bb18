"""One answer as a stream of events, in the real system's order, with its failures.

in order      meta, message*, finish, done          (agent engine: tool events before the messages)
refused       meta, meta of a new task, reject, finish REJECTED, done
stopped       meta, message*, cancel, done
failed        meta, message*, and the connection closes
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from evalkit.targets.demo.admission import number
from evalkit.targets.demo.agent import Agent, Reply
from evalkit.targets.demo.conversations import Conversation
from evalkit.targets.demo.evidence import sources
from evalkit.targets.demo.frames import DONE, chunks, frame
from evalkit.targets.demo.settings import Settings
from evalkit.targets.demo.tools import DISPLAY_NAMES, Call

__all__ = ["Broken", "Engine", "Run", "events", "rejection"]

BUSY = "系统繁忙，请稍后再试"
Engine = Literal["workflow", "agent"]


class Broken(Exception):
    """The model failed in mid-answer; all that a client sees is that the connection closes."""


@dataclass(slots=True)
class Run:
    """One question on its way: who asks, what, where, and how it went. Times are of a monotonic clock."""

    question: str
    conversation_id: str
    task_id: str
    engine: Engine
    username: str
    deep_thinking: bool = False
    status: str = "RUNNING"
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    started: float = field(default_factory=time.monotonic)
    first_text: float | None = None
    ended: float | None = None

    def meta(self) -> bytes:
        """The frame that opens the stream."""
        return frame("meta", {"conversationId": self.conversation_id, "taskId": self.task_id})

    def end(self) -> None:
        """Nothing more will be sent; where nobody said why, the client is gone."""
        self.ended = time.monotonic()
        self.status = "INTERRUPTED" if self.status == "RUNNING" else self.status

    def finish(self, event: str, status: str, **more: Any) -> bytes:
        """The frame that closes it; what is None is left out."""
        said = {"messageId": number(self.task_id + status), **more, "messageStatus": status}
        return frame(event, {name: value for name, value in said.items() if value is not None})


async def events(run: Run, *, agent: Agent, talk: Conversation, settings: Settings) -> AsyncGenerator[bytes]:
    """The frames of an answer after `meta`; raises Broken where the stream is to be cut."""
    faults = settings.faults
    wait_ms = settings.pacing.think_ms
    if faults.strikes("slow", run.question):
        wait_ms += faults.slow_first_token_ms
    try:
        await asyncio.wait_for(run.stopped.wait(), wait_ms / 1000)
    except TimeoutError:
        reply = agent.reply(talk, run.question)
        async for part in _told(run, reply, settings):
            yield part
        if not run.stopped.is_set():
            run.status = "SUCCESS"
            yield _finish(run, reply, first=talk.turns == 1)
    if run.stopped.is_set():
        run.status = "INTERRUPTED"
        yield run.finish("cancel", "INTERRUPTED")
    yield DONE


async def rejection(run: Run) -> AsyncGenerator[bytes]:
    """The frames after `meta` of a question that is turned away under load: it gets a new task id first."""
    run.status = "REJECTED"
    run.task_id = number(run.task_id)
    yield run.meta()
    yield frame("reject", {"type": "response", "delta": BUSY})
    yield run.finish("finish", "REJECTED")
    yield DONE


async def _told(run: Run, reply: Reply, settings: Settings) -> AsyncIterator[bytes]:
    """Tool events, thoughts and text at the server's pace, until the end, a stop, or a cut."""
    cut = settings.faults.strikes("cut", run.question)
    parts = _parts(run, reply, settings.pacing.chunk_chars)
    for part in islice(parts, settings.faults.cut_after if cut else None):
        if run.stopped.is_set():
            return
        yield part
        await asyncio.sleep(settings.pacing.chunk_ms / 1000)
    if cut:
        raise Broken


def _parts(run: Run, reply: Reply, size: int) -> Iterator[bytes]:
    if run.engine == "agent":
        yield from _tools(reply.calls)
    if run.deep_thinking:
        yield from (
            frame("message", {"type": "think", "delta": piece}) for piece in chunks(reply.thinking, size)
        )
    for piece in chunks(reply.text, size):
        run.first_text = run.first_text or time.monotonic()
        yield frame("message", {"type": "response", "delta": piece})


def _tools(calls: tuple[Call, ...]) -> Iterator[bytes]:
    """A start and an end for each call; beyond the real system, the end has the arguments and the latency."""
    for call in calls:
        who = {"name": call.name, "displayName": DISPLAY_NAMES.get(call.name, call.name)}
        yield frame("tool", {**who, "status": "start"})
        result = str(call.error) if call.error else json.dumps(call.result, ensure_ascii=False)
        end = {"result": result, "ok": call.error is None, "arguments": dict(call.arguments)}
        yield frame("tool", {**who, "status": "end", **end, "latencyMs": round(call.latency_ms, 3)})


def _finish(run: Run, reply: Reply, *, first: bool) -> bytes:
    title = run.question[:20] if first else None
    if run.engine == "agent":
        return run.finish("finish", "NORMAL", title=title, state=reply.state)
    return run.finish("finish", "NORMAL", title=title, sources=sources(reply.hits) or None)
