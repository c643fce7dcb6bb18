"""A case put to Ragent: its dialog on the answer channel, its first question on the evidence channel.

A try of the answer channel is a whole dialog in a new conversation, so that what a broken try left behind in
the target's memory cannot colour the next one. A dialog stops at the first turn that does not end well.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import AnswerStatus, Attempt, Case, ChannelError, Observation, Turn
from evalkit.net.retry import Gate, persevere
from evalkit.targets.ragent.answer import Reply, read_reply
from evalkit.targets.ragent.evidence import Evidence, read_evidence
from evalkit.targets.ragent.session import Session

__all__ = ["Asking"]


@dataclass(slots=True)
class _Dialog:
    """One try of the answer channel; `error` and `retry_after` are those of the last turn."""

    agent: bool
    replies: list[Reply] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    error: ChannelError | None = None
    retry_after: str | None = None

    @property
    def status(self) -> AnswerStatus:
        return self.replies[-1].status

    @property
    def total_ms(self) -> float:
        return sum(turn.latency_ms or 0 for turn in self.turns)

    def add(self, sent: str, reply: Reply) -> None:
        self.replies.append(reply)
        self.turns.append(reply.turn(sent))
        self.error, self.retry_after = reply.error, reply.retry_after


@dataclass(slots=True)
class Asking:
    """How cases are put: over which session, with which engine, tried again how often."""

    session: Session
    engine: str
    retries: int
    deep_thinking: bool
    evidence: bool
    agent_slots: asyncio.Semaphore
    gate: Gate = field(default_factory=Gate)

    async def ask(self, case: Case) -> Observation:
        """What the target answered, and on what evidence; never raises for a failed channel."""
        dialogs = await persevere(lambda: self._dialog(case), retries=self.retries, gate=self.gate)
        findings = [] if not self.evidence else await self._evidence(case.user_turns[0])
        return self.session.mask.observation(_observation(dialogs, findings))

    async def _evidence(self, question: str) -> list[Evidence]:
        async def once() -> Evidence:
            return read_evidence(await self.session.fetch("rag/eval", {"question": question}))

        return await persevere(once, retries=self.retries, gate=self.gate)

    async def _dialog(self, case: Case) -> _Dialog:
        if self.engine == "agent" or (self.engine == "auto" and len(case.messages) > 1):
            async with self.agent_slots:
                return await self._converse(case, _Dialog(agent=True))
        return await self._converse(case, _Dialog(agent=False))

    async def _converse(self, case: Case, dialog: _Dialog) -> _Dialog:
        path = "agent/v1/chat" if dialog.agent else "rag/v3/chat"
        fixed = {} if dialog.agent else {"deepThinking": "true" if self.deep_thinking else "false"}
        conversation: dict[str, str] = {}
        for message in case.user_turns:
            reply = read_reply(
                await self.session.stream(path, {"question": message, **conversation, **fixed})
            )
            dialog.add(message, reply)
            if reply.status != "ok":
                break
            conversation |= {key: value for key, value in reply.ids.items() if key == "conversationId"}
        return dialog


def _observation(dialogs: list[_Dialog], findings: list[Evidence]) -> Observation:
    found = findings[-1] if findings else None
    return Observation(**_answered(dialogs), **_found(findings), **_joint(dialogs[-1], found))


def _answered(dialogs: list[_Dialog]) -> dict[str, Any]:
    """What the answer channel gave, under the names of an observation."""
    dialog = dialogs[-1]
    last = dialog.replies[-1]
    return {
        "response": last.text if last.text or dialog.status == "ok" else None,
        "thinking": last.thinking,
        "dialog": tuple(dialog.turns),
        "answer_status": dialog.status,
        "answer_error": dialog.error,
        "answer_attempts": tuple(
            Attempt(status=each.status, total_ms=each.total_ms, error=each.error) for each in dialogs
        ),
        "answer_timings": last.timings,
        "ttft_ms": last.timings.first_text_ms,
        "total_ms": last.timings.end_ms,
        **_agent_report(dialog),
    }


def _agent_report(dialog: _Dialog) -> dict[str, Any]:
    """Tool calls of all turns, and the latest state; null where the engine does not tell."""
    calls = tuple(call for reply in dialog.replies for call in reply.tools)
    state: dict[str, Any] = {}
    for reply in dialog.replies:
        state |= reply.state
    steps = state.get("doneSteps")
    return {
        "tool_calls": calls if calls or (dialog.agent and dialog.status == "ok") else None,
        "filled_slots": state.get("filledSlots"),
        "done_steps": None if steps is None else tuple(steps),
    }


def _found(findings: list[Evidence]) -> dict[str, Any]:
    """What the evidence channel gave, under the names of an observation."""
    if not findings:
        return {"evidence_status": "skipped"}
    last = findings[-1]
    return {
        "evidence_status": "error" if last.error else "ok",
        "evidence_error": last.error,
        "evidence_attempts": tuple(
            Attempt(status="error" if each.error else "ok", total_ms=each.timings.end_ms, error=each.error)
            for each in findings
        ),
        "evidence_timings": last.timings,
        **{name: value for name, value in last.observed.items() if name != "retrieved_doc_ids"},
    }


def _joint(dialog: _Dialog, found: Evidence | None) -> dict[str, Any]:
    """What both channels have a say in. The first question is the one that both were asked."""
    told = dialog.replies[0].sources
    looked_up = found.observed.get("retrieved_doc_ids") if found else None
    flags = [flag for reply in dialog.replies for flag in reply.flags]
    if told is not None and looked_up is not None and set(told) != set(looked_up):
        flags.append("evidence_mismatch")
    source = "side_channel" if looked_up is not None else None
    return {
        "retrieved_doc_ids": looked_up if told is None else told,
        "evidence_source": source if told is None else "stream",
        "trace_ids": {**dialog.replies[-1].ids, **(found.ids if found else {})},
        "flags": tuple(dict.fromkeys(flags)),
    }
