"""What the two channels of a case gave, whatever target was asked, and the observation that they make up.

A try of the answer channel is a whole dialog. An answer can end badly in several ways at once (a rejection is
followed by an ordinary end): the worst stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import AnswerStatus, Attempt, ChannelError, Observation, Timings, ToolCall, Turn, Usage

__all__ = ["Dialog", "Evidence", "Reply", "observation"]

_SEVERITY: tuple[AnswerStatus, ...] = ("ok", "incomplete", "cancelled", "rejected", "error")


@dataclass(slots=True)
class Reply:
    """One turn's answer. `sources`, `slots` and `steps` are None where it told none.

    `observed` has what else the answer told of its evidence, under the names of an observation.
    """

    status: AnswerStatus = "ok"
    error: ChannelError | None = None
    timings: Timings = field(default_factory=Timings)
    retry_after: str | None = None
    text: str = ""
    thinking: str | None = None
    tools: tuple[ToolCall, ...] = ()
    sources: tuple[str, ...] | None = None
    observed: dict[str, Any] = field(default_factory=dict)
    slots: dict[str, Any] | None = None
    steps: tuple[str, ...] | None = None
    usage: Usage | None = None
    ids: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)

    def turn(self, sent: str) -> Turn:
        """The turn of a dialog in which this was the reply to `sent`."""
        return Turn(
            sent_message=sent,
            reply=self.text,
            thinking=self.thinking,
            status=self.status,
            ttft_ms=self.timings.first_text_ms,
            latency_ms=self.timings.end_ms,
            tool_calls=self.tools,
            intent_pred=self.observed.get("intent_pred"),
            retrieved_doc_ids=self.sources,
            filled_slots=self.slots,
        )

    def worsen(self, status: AnswerStatus, error: ChannelError) -> None:
        """Let the worst ending stand; of equally bad ones the first."""
        if _SEVERITY.index(status) > _SEVERITY.index(self.status):
            self.status, self.error = status, error


@dataclass(slots=True)
class Evidence:
    """One try of the evidence channel; with an `error`, everything else is unknown.

    `observed` has what it told under the names of an observation.
    """

    error: ChannelError | None = None
    timings: Timings = field(default_factory=Timings)
    retry_after: str | None = None
    ids: dict[str, str] = field(default_factory=dict)
    observed: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Dialog:
    """One try of the answer channel; `error` and `retry_after` are those of the last turn.

    `tells_tools`: a target that would tell of tool calls, so that none told means none made.
    """

    tells_tools: bool
    replies: list[Reply] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    error: ChannelError | None = None
    retry_after: str | None = None

    @property
    def status(self) -> AnswerStatus:
        """How its last turn ended."""
        return self.replies[-1].status

    @property
    def total_ms(self) -> float:
        """How long its turns took together."""
        return sum(turn.latency_ms or 0 for turn in self.turns)

    def add(self, sent: str, reply: Reply) -> None:
        """Go on by one turn."""
        self.replies.append(reply)
        self.turns.append(reply.turn(sent))
        self.error, self.retry_after = reply.error, reply.retry_after


def observation(
    dialogs: list[Dialog], findings: list[Evidence], *, source: str = "side_channel"
) -> Observation:
    """What the tries of both channels make up; `source` says where the findings were looked up.

    Documents come from the answer itself where it told them. Without findings the evidence channel is what
    the answer told: `skipped` where it told nothing.
    """
    found = findings[-1] if findings else None
    return Observation(**_answered(dialogs), **_found(findings), **_joint(dialogs[-1], found, source))


def _answered(dialogs: list[Dialog]) -> dict[str, Any]:
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
        "usage": Usage.summed(reply.usage for each in dialogs for reply in each.replies),
        **_agent_report(dialog),
    }


def _agent_report(dialog: Dialog) -> dict[str, Any]:
    """Tool calls of all turns, and the latest slots and steps; null where the target does not tell."""
    calls = tuple(call for reply in dialog.replies for call in reply.tools)
    slots = [reply.slots for reply in dialog.replies if reply.slots is not None]
    steps = [reply.steps for reply in dialog.replies if reply.steps is not None]
    return {
        "tool_calls": calls if calls or (dialog.tells_tools and dialog.status == "ok") else None,
        "filled_slots": slots[-1] if slots else None,
        "done_steps": steps[-1] if steps else None,
    }


def _found(findings: list[Evidence]) -> dict[str, Any]:
    """What the evidence channel gave, under the names of an observation."""
    if not findings:
        return {}
    last = findings[-1]
    return {
        "evidence_status": "error" if last.error else "ok",
        "evidence_error": last.error,
        "evidence_attempts": tuple(
            Attempt(status="error" if each.error else "ok", total_ms=each.timings.end_ms, error=each.error)
            for each in findings
        ),
        "evidence_timings": last.timings,
    }


def _joint(dialog: Dialog, found: Evidence | None, source: str) -> dict[str, Any]:
    """What both channels have a say in. The first question is the one that both were asked."""
    first = dialog.replies[0]
    looked_up = found.observed if found else {}
    there = looked_up.get("retrieved_doc_ids")
    flags = [flag for reply in dialog.replies for flag in reply.flags]
    if first.sources is not None and there is not None and set(first.sources) != set(there):
        flags.append("evidence_mismatch")
    told = {} if first.sources is None else {"retrieved_doc_ids": first.sources}
    return {
        "evidence_source": "stream" if told else (None if there is None else source),
        "trace_ids": {**dialog.replies[-1].ids, **(found.ids if found else {})},
        "flags": tuple(dict.fromkeys(flags)),
        **({} if found else {"evidence_status": "ok" if told or first.observed else "skipped"}),
        **looked_up,
        **first.observed,
        **told,
    }
