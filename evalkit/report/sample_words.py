"""The parts of a sample in words: a slot, a tool call, a try, an error; empty where there is nothing to say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from evalkit.contracts import Attempt, ChannelError, SlotSpec, StepSpec, ToolCall, Verdict
from evalkit.finding import Disagreement, Evidence, Finding, StepFinding
from evalkit.report.figures import milliseconds

__all__ = [
    "attempt",
    "call",
    "decided",
    "difference",
    "error",
    "evidence",
    "finding",
    "joined",
    "lines",
    "passed",
    "plain",
    "seen",
    "slot",
    "step",
    "text",
    "time",
    "verdict",
]


def difference(found: Disagreement) -> str:
    """A slot of which user, agent and target tell different things, and where each does."""
    return f"{found.slot}: {found.kind}: {joined(map(finding, found.findings))}"


def evidence(found: Evidence) -> str:
    """A slot, and where which source tells it."""
    told = (one for one in (found.stated, found.confirmed, found.reported) if one)
    return f"{found.slot.name}: {joined(map(finding, told)) or 'not found'}"


def finding(one: Finding) -> str:
    """What was found, and where it stands."""
    span = f", {one.span[0]}–{one.span[1]}" if one.span else ""
    place = "" if one.turn is None else f" ({one.source}, turn {one.turn + 1}{span})"
    return f"{one.evidence} {one.value}{place}"


def seen(one: StepFinding) -> str:
    """A step that was seen, where, and what it came too early for."""
    place = "" if one.turn is None else f", turn {one.turn + 1}"
    lacks = "" if one.in_order else f", too early: lacks {joined(one.lacks)}"
    return f"{one.step} ({one.source}{place}{lacks})"


def verdict(verdict: Verdict) -> str:
    """What a rule says."""
    score = "" if verdict.score is None else f"score {verdict.score:.3g}"
    hard = "hard" if verdict.hard else ""
    return joined((passed(verdict.passed), score, hard, verdict.reason), " · ")


def decided(names: str) -> str:
    """The rules that decided."""
    return f"by {names}" if names else ""


def passed(passed: bool | None) -> str:  # noqa: FBT001 - a verdict's own value
    """Whether rules hold."""
    return {True: "passed", False: "failed", None: "undecided"}[passed]


def slot(slot: SlotSpec) -> str:
    """A required slot with its value."""
    return f"{slot.name} = {plain(slot.value)}" if slot.value is not None else slot.name


def step(step: StepSpec) -> str:
    """A required step with those that come before it."""
    return f"{step.name} (after {joined(step.after)})" if step.after else step.name


def call(call: ToolCall) -> str:
    """A tool call with its result or error."""
    end = f" ! {call.error}" if call.error else f" → {plain(call.result)}" if call.result is not None else ""
    return f"{call.name}{plain(call.arguments) or '{}'}{end}"


def attempt(attempt: Attempt) -> str:
    """One try of a channel."""
    return joined((attempt.status, time(attempt.total_ms), error(attempt.error)), " · ")


def error(error: ChannelError | None) -> str:
    """An error of a channel."""
    if error is None:
        return ""
    body = f"body: {error.body}" if error.body else None
    return joined((error.kind, text(error.http_status), error.code, error.message, body), " · ")


def time(value: float | None) -> str:
    """A duration."""
    return "" if value is None else milliseconds(value)


def text(value: object) -> str:
    """Any value as text."""
    return "" if value is None else str(value)


def joined(parts: Iterable[str | None], by: str = ", ") -> str:
    """The parts that say something, in one line."""
    return by.join(part for part in parts if part)


def lines(parts: Iterable[str], by: str = "\n") -> str:
    """The parts, each on a line of its own."""
    return by.join(parts)


def plain(value: Any) -> str:
    """A value as JSON."""
    return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)
