"""One sample laid out for reading: what was asked, what was expected, what was observed, and how it went.

The texts are raw; each sink makes them safe in its own way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalkit.contracts import (
    Attempt,
    ChannelError,
    EvalRecord,
    Outcome,
    SlotSpec,
    StepSpec,
    ToolCall,
    Verdict,
)
from evalkit.finding import Disagreement, Evidence, Finding, StepFinding, disagreements, evidence, steps
from evalkit.report.figures import milliseconds
from evalkit.report.reasons import Reason
from evalkit.rules.logic import named

__all__ = ["Section", "layout"]

Row: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows of a name and a text under one title; a section without rows is left out."""

    title: str
    rows: tuple[Row, ...]


def layout(
    record: EvalRecord, reasons: Sequence[Reason] = (), outcome: Outcome | None = None
) -> list[Section]:
    """The sections of a record, in reading order; every field with something in it is in one of them.

    `reasons` are those for which the sample failed: they come first. `outcome` is what became of the task.
    """
    found = (
        ("Why it failed", ((reason.gate, reason.text) for reason in reasons)),
        ("Outcome", _outcome(outcome) if outcome else ()),
        ("Rules", _rules(record)),
        ("Judged", _judged(record)),
        ("Asked", _asked(record)),
        ("Expected", _expected(record)),
        ("Observed", _observed(record)),
        ("Dialog", _dialog(record)),
        ("Channels", _channels(record)),
        ("Times", _times(record)),
        ("Further", _further(record)),
    )
    sections = (Section(title, tuple(row for row in rows if row[1] != "")) for title, rows in found)
    return [section for section in sections if section.rows]


def _outcome(found: Outcome) -> Iterator[Row]:
    """The three layers; nothing where the sample is no task."""
    if found.success_most is None:
        return
    least, most = found.success_least, found.success_most
    open_end = f"{least} whatever is unknown" if least == most else f"{least} to {most}"
    yield "success", found.success_level or f"undecided: {open_end}"
    yield "intent", {True: "understood", False: "mistaken", None: "unknown"}[found.intent_passed]
    yield "completion", "unknown" if found.completion is None else f"{found.completion:.3g}"


def _asked(record: EvalRecord) -> Iterator[Row]:
    turns = record.user_turns
    for number, turn in enumerate(turns, 1):
        yield ("question" if len(turns) == 1 else f"turn {number}"), turn
    yield "difficulty", record.difficulty or ""
    yield "trap", record.trap_type or ""
    yield "tags", _joined(record.tags)
    yield "asked at", _text(record.asked_at)


def _expected(record: EvalRecord) -> Iterator[Row]:
    yield "intent", _joined((record.intent_l1, record.intent_l2), " / ")
    yield "needs retrieval", {True: "yes", False: "no", None: ""}[record.needs_retrieval]
    yield "documents", _joined(record.reference_doc_ids)
    yield "also welcome", _joined(record.reference_doc_ids_nice)
    yield "answer", record.reference or ""
    yield "slots", _lines(_slot(slot) for slot in record.required_slots)
    yield "steps", _lines(_step(step) for step in record.required_steps)
    if record.expected_tools is not None:
        yield "tool calls", _lines(map(_call, record.expected_tools)) or "none"
    yield "turns", _text(record.expected_turns)
    yield "rules", _lines(f"{rule.type} {_json(rule.params)}" for rule in record.rules)
    if record.expectation:
        yield "expectation", _json(record.expectation.model_dump(mode="json", exclude_defaults=True))


def _observed(record: EvalRecord) -> Iterator[Row]:
    yield "intent", record.intent_pred or ""
    yield "all intents", _joined(record.intent_pred_all) if len(record.intent_pred_all) > 1 else ""
    yield "sub-questions", _lines(record.sub_questions)
    if record.retrieved_doc_ids is not None:
        yield "documents", _lines(_ranked(record)) or "none"
    yield "answer", "(empty)" if record.response == "" else record.response or ""
    yield "thinking", record.thinking or ""
    if record.tool_calls is not None:
        yield "tool calls", _lines(map(_call, record.tool_calls)) or "none"
    yield "filled slots", _json(record.filled_slots)
    yield "found slots", _lines(map(_evidence, evidence(record)))
    yield "found steps", _lines(map(_seen, steps(record) or ()))
    yield "sources differ", _lines(map(_difference, disagreements(record)))
    yield "done steps", _joined(record.done_steps or ())
    yield "contexts", _lines(_contexts(record), "\n\n")


def _difference(found: Disagreement) -> str:
    """A slot of which user, agent and target tell different things, and where each does."""
    return f"{found.slot}: {found.kind}: {_joined(map(_finding, found.findings))}"


def _evidence(found: Evidence) -> str:
    """A slot, and where which source tells it."""
    told = (one for one in (found.stated, found.confirmed, found.reported) if one)
    return f"{found.slot.name}: {_joined(map(_finding, told)) or 'not found'}"


def _finding(one: Finding) -> str:
    span = f", {one.span[0]}–{one.span[1]}" if one.span else ""
    place = "" if one.turn is None else f" ({one.source}, turn {one.turn + 1}{span})"
    return f"{one.evidence} {one.value}{place}"


def _seen(one: StepFinding) -> str:
    place = "" if one.turn is None else f", turn {one.turn + 1}"
    lacks = "" if one.in_order else f", too early: lacks {_joined(one.lacks)}"
    return f"{one.step} ({one.source}{place}{lacks})"


def _ranked(record: EvalRecord) -> Iterator[str]:
    """The documents in their order, the right ones marked; then those that are missing."""
    must, nice = set(record.reference_doc_ids), set(record.reference_doc_ids_nice)
    found = record.retrieved_doc_ids or ()
    for rank, doc in enumerate(found, 1):
        mark = " ✓" if doc in must else " ✓ welcome" if doc in nice else ""
        yield f"{rank}. {doc}{mark}"
    yield from (f"missing: {doc}" for doc in dict.fromkeys(record.reference_doc_ids) if doc not in found)


def _contexts(record: EvalRecord) -> Iterator[str]:
    docs: Sequence[str | None] = record.retrieved_context_doc_ids or ()
    for number, text in enumerate(record.retrieved_contexts or ()):
        doc = docs[number] if number < len(docs) else None
        yield f"[{number + 1}] {doc or ''}\n{text}"


def _rules(record: EvalRecord) -> Iterator[Row]:
    """What the rules come to, and each verdict under the name by which it decides."""
    if record.verdicts:
        yield "in all", _joined((_passed(record.rules_passed), _by(record.rules_decided_by)))
    for name, verdict in named(record.verdicts).items():
        yield name, _verdict(verdict)
        yield f"{name}: found", _json(verdict.detail)


def _by(names: str) -> str:
    return f"by {names}" if names else ""


def _verdict(verdict: Verdict) -> str:
    score = "" if verdict.score is None else f"score {verdict.score:.3g}"
    hard = "hard" if verdict.hard else ""
    return _joined((_passed(verdict.passed), score, hard, verdict.reason), " · ")


def _judged(record: EvalRecord) -> Iterator[Row]:
    for name, said in record.judgements.items():
        score = "" if said.score is None else f"score {said.score:.3g}"
        status = "" if said.status == "ok" else said.status
        yield name, _joined((status, score, said.label or "", said.reason, said.judge), " · ")


def _passed(passed: bool | None) -> str:  # noqa: FBT001 - a verdict's own value
    return {True: "passed", False: "failed", None: "undecided"}[passed]


def _dialog(record: EvalRecord) -> Iterator[Row]:
    for number, turn in enumerate(record.dialog, 1):
        yield f"user {number}", turn.sent_message
        status = "" if turn.status == "ok" else f"[{turn.status}] "
        yield f"reply {number}", f"{status}{turn.reply}"
        yield f"tools {number}", _lines(map(_call, turn.tool_calls))


def _channels(record: EvalRecord) -> Iterator[Row]:
    for name, status, error, attempts in (
        ("answer", record.answer_status, record.answer_error, record.answer_attempts),
        ("evidence", record.evidence_status, record.evidence_error, record.evidence_attempts),
    ):
        yield name, status
        yield f"{name} error", _error(error)
        yield f"{name} tries", _lines(map(_attempt, attempts)) if len(attempts) > 1 else ""
    yield "documents from", record.evidence_source or ""
    yield "flags", _joined(record.flags)
    yield "from cache", "yes" if record.from_cache else ""


def _times(record: EvalRecord) -> Iterator[Row]:
    yield "first text", _time(record.ttft_ms)
    yield "total", _time(record.total_ms)
    for name in ("answer_timings", "evidence_timings"):
        timings = getattr(record, name)
        if timings is not None:
            given = timings.model_dump(exclude_none=True)
            yield name.replace("_", " "), _joined(f"{key}={_json(value)}" for key, value in given.items())


def _further(record: EvalRecord) -> Iterator[Row]:
    yield "run", record.run_id or ""
    yield "started", _text(record.started_at)
    yield "usage", _json(record.usage.model_dump(exclude_none=True)) if record.usage else ""
    yield "trace ids", _json(record.trace_ids)
    yield "chunks", _joined(record.retrieved_chunk_ids or ())
    yield from ((name, _json(value)) for name, value in (record.model_extra or {}).items())


def _slot(slot: SlotSpec) -> str:
    return f"{slot.name} = {_json(slot.value)}" if slot.value is not None else slot.name


def _step(step: StepSpec) -> str:
    return f"{step.name} (after {_joined(step.after)})" if step.after else step.name


def _call(call: ToolCall) -> str:
    end = f" ! {call.error}" if call.error else f" → {_json(call.result)}" if call.result is not None else ""
    return f"{call.name}{_json(call.arguments) or '{}'}{end}"


def _attempt(attempt: Attempt) -> str:
    return _joined((attempt.status, _time(attempt.total_ms), _error(attempt.error)), " · ")


def _error(error: ChannelError | None) -> str:
    if error is None:
        return ""
    body = f"body: {error.body}" if error.body else None
    return _joined((error.kind, _text(error.http_status), error.code, error.message, body), " · ")


def _time(value: float | None) -> str:
    return "" if value is None else milliseconds(value)


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _joined(parts: Iterable[str | None], by: str = ", ") -> str:
    return by.join(part for part in parts if part)


def _lines(parts: Iterable[str], by: str = "\n") -> str:
    return by.join(parts)


def _json(value: Any) -> str:
    return "" if value in (None, {}, []) else json.dumps(value, ensure_ascii=False)
