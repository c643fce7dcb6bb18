"""One sample laid out for reading: what was asked, what was expected, what was observed, and how it went.

The texts are raw; each sink makes them safe in its own way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from evalkit.contracts import EvalRecord, Outcome
from evalkit.finding import disagreements, evidence, steps
from evalkit.report import sample_words as words
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
    yield "tags", words.joined(record.tags)
    yield "asked at", words.text(record.asked_at)


def _expected(record: EvalRecord) -> Iterator[Row]:
    yield "intent", words.joined((record.intent_l1, record.intent_l2), " / ")
    yield "needs retrieval", {True: "yes", False: "no", None: ""}[record.needs_retrieval]
    yield "documents", words.joined(record.reference_doc_ids)
    yield "also welcome", words.joined(record.reference_doc_ids_nice)
    yield "answer", record.reference or ""
    yield "slots", words.lines(words.slot(slot) for slot in record.required_slots)
    yield "steps", words.lines(words.step(step) for step in record.required_steps)
    if record.expected_tools is not None:
        yield "tool calls", words.lines(map(words.call, record.expected_tools)) or "none"
    yield "turns", words.text(record.expected_turns)
    yield "rules", words.lines(f"{rule.type} {words.plain(rule.params)}" for rule in record.rules)
    if record.expectation:
        yield "expectation", words.plain(record.expectation.model_dump(mode="json", exclude_defaults=True))


def _observed(record: EvalRecord) -> Iterator[Row]:
    yield "intent", record.intent_pred or ""
    yield "all intents", words.joined(record.intent_pred_all) if len(record.intent_pred_all) > 1 else ""
    yield "sub-questions", words.lines(record.sub_questions)
    if record.retrieved_doc_ids is not None:
        yield "documents", words.lines(_ranked(record)) or "none"
    yield "answer", "(empty)" if record.response == "" else record.response or ""
    yield "thinking", record.thinking or ""
    if record.tool_calls is not None:
        yield "tool calls", words.lines(map(words.call, record.tool_calls)) or "none"
    yield "filled slots", words.plain(record.filled_slots)
    yield "found slots", words.lines(map(words.evidence, evidence(record)))
    yield "found steps", words.lines(map(words.seen, steps(record) or ()))
    yield "sources differ", words.lines(map(words.difference, disagreements(record)))
    yield "done steps", words.joined(record.done_steps or ())
    yield "contexts", words.lines(_contexts(record), "\n\n")


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
        yield (
            "in all",
            words.joined((words.passed(record.rules_passed), words.decided(record.rules_decided_by))),
        )
    for name, verdict in named(record.verdicts).items():
        yield name, words.verdict(verdict)
        yield f"{name}: found", words.plain(verdict.detail)


def _judged(record: EvalRecord) -> Iterator[Row]:
    for name, said in record.judgements.items():
        score = "" if said.score is None else f"score {said.score:.3g}"
        status = "" if said.status == "ok" else said.status
        yield name, words.joined((status, score, said.label or "", said.reason, said.judge), " · ")


def _dialog(record: EvalRecord) -> Iterator[Row]:
    for number, turn in enumerate(record.dialog, 1):
        yield f"user {number}", turn.sent_message
        status = "" if turn.status == "ok" else f"[{turn.status}] "
        yield f"reply {number}", f"{status}{turn.reply}"
        yield f"tools {number}", words.lines(map(words.call, turn.tool_calls))


def _channels(record: EvalRecord) -> Iterator[Row]:
    for name, status, error, attempts in (
        ("answer", record.answer_status, record.answer_error, record.answer_attempts),
        ("evidence", record.evidence_status, record.evidence_error, record.evidence_attempts),
    ):
        yield name, status
        yield f"{name} error", words.error(error)
        yield f"{name} tries", words.lines(map(words.attempt, attempts)) if len(attempts) > 1 else ""
    yield "documents from", record.evidence_source or ""
    yield "flags", words.joined(record.flags)
    yield "from cache", "yes" if record.from_cache else ""


def _times(record: EvalRecord) -> Iterator[Row]:
    yield "first text", words.time(record.ttft_ms)
    yield "total", words.time(record.total_ms)
    for name in ("answer_timings", "evidence_timings"):
        timings = getattr(record, name)
        if timings is not None:
            given = timings.model_dump(exclude_none=True)
            yield (
                name.replace("_", " "),
                words.joined(f"{key}={words.plain(value)}" for key, value in given.items()),
            )


def _further(record: EvalRecord) -> Iterator[Row]:
    yield "run", record.run_id or ""
    yield "started", words.text(record.started_at)
    yield "usage", words.plain(record.usage.model_dump(exclude_none=True)) if record.usage else ""
    yield "trace ids", words.plain(record.trace_ids)
    yield "chunks", words.joined(record.retrieved_chunk_ids or ())
    yield from ((name, words.plain(value)) for name, value in (record.model_extra or {}).items())
