"""The gates that an answer passes, and what to say where one of them breaks.

channel → intent → retrieval → completion → answer. A gate holds a sample against a score column; what the
column does not count breaks nothing. The rules of a case break the gate of their layer, else the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from evalkit.contracts import ChannelError, EvalRecord, ToolCall
from evalkit.finding import found, is_value, steps
from evalkit.metrics.tools import pairing, same

__all__ = ["Check", "Gate", "Reason", "channel_reasons", "checks", "empty_answer"]

Gate = Literal["channel", "intent", "retrieval", "completion", "answer"]
GATES: tuple[Gate, ...] = ("channel", "intent", "retrieval", "completion", "answer")
"""The gates in the order in which an answer passes them."""

SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Reason:
    """One gate broken: a stable `kind`, the same in words, what was expected and what was found."""

    gate: Gate
    kind: str
    text: str
    expected: Any = None
    found: Any = None


Explain: TypeAlias = Callable[[EvalRecord], Reason]


class Check(NamedTuple):
    """A gate held against the column of `metric`: it breaks where `broken(score)`, of one score or many, as `explain` tells."""

    metric: str
    broken: Callable[[Any], Any]
    explain: Explain


def checks(metrics: Iterable[str]) -> list[Check]:
    """The checks that these metrics allow, in the order of the gates.

    Retrieval is held against the recall with the largest cut-off: what is not in there was not found.
    """
    names = set(metrics)
    cutoffs = [int(match[1]) for name in names if (match := re.fullmatch(r"recall@(\d+)", name))]
    known = (
        Check("intent_top1", _below_one, _intent),
        Check(f"recall@{max(cutoffs, default=0)}", _below_one, _documents),
        Check("over_retrieval", _above_zero, _needless),
        Check("slot_completion", _below_one, _slots),
        Check("slot_value_accuracy", _below_one, _values),
        Check("step_completion", _below_one, _steps),
        Check("tool_f1", _below_one, _tools),
        Check("argument_accuracy", _below_one, _arguments),
        Check("fallback_when_required", _above_zero, _fallback),
    )
    return [check for check in known if check.metric in names]


def _below_one(score: Any) -> Any:
    return score < 1 - SLACK


def _above_zero(score: Any) -> Any:
    return score > SLACK


def channel_reasons(record: EvalRecord) -> Iterator[Reason]:
    """A reason for each channel that was asked and did not end well."""
    for channel, status, error in (
        ("answer", record.answer_status, record.answer_error),
        ("evidence", record.evidence_status, record.evidence_error),
    ):
        if status not in ("ok", "skipped"):
            text = f"the {channel} channel ended as {status}{_told(error)}"
            yield Reason("channel", f"{channel}_{status}", text, "ok", error.kind if error else status)


def _told(error: ChannelError | None) -> str:
    if error is None:
        return ""
    code = f" {error.http_status}" if error.http_status else ""
    return f": {error.kind}{code} {error.message}".rstrip()


def empty_answer(record: EvalRecord) -> Iterator[Reason]:
    """A reason where the answer channel ended well and said nothing."""
    if record.answer_status == "ok" and record.response is not None and not record.response.strip():
        yield Reason("answer", "empty_answer", "the answer is empty", record.reference, record.response)


def _intent(record: EvalRecord) -> Reason:
    wanted, given = record.intent_l2, record.intent_pred or None
    if given is None:
        return Reason("intent", "no_intent", f"no intent given, expected {wanted}", wanted, None)
    return Reason("intent", "wrong_intent", f"intent {given}, expected {wanted}", wanted, given)


def _documents(record: EvalRecord) -> Reason:
    wanted = list(dict.fromkeys(record.reference_doc_ids))
    given = list(dict.fromkeys(record.retrieved_doc_ids or ()))
    missing = [doc for doc in wanted if doc not in given]
    if not given:
        kind, text = "nothing_retrieved", f"nothing retrieved, expected {_listed(wanted)}"
    elif missing == wanted:
        kind, text = "documents_missed", f"no right document among {len(given)}, expected {_listed(wanted)}"
    else:
        kind, text = "documents_incomplete", f"documents missing or far down: {_listed(missing or wanted)}"
    return Reason("retrieval", kind, text, [*wanted], [*given])


def _needless(record: EvalRecord) -> Reason:
    given = list(dict.fromkeys(record.retrieved_doc_ids or ()))
    return Reason(
        "retrieval", "needless_retrieval", f"{len(given)} documents retrieved, none needed", [], [*given]
    )


def _slots(record: EvalRecord) -> Reason:
    wanted = [slot.name for slot in record.required_slots]
    given = [finding.slot for finding in found(record) or ()]
    return _incomplete("slots_missing", "slots not filled", wanted=wanted, given=given)


def _steps(record: EvalRecord) -> Reason:
    wanted = [step.name for step in record.required_steps]
    given = [finding.step for finding in steps(record) or () if finding.in_order]
    return _incomplete("steps_missing", "steps not done, or not in their order", wanted=wanted, given=given)


def _incomplete(kind: str, what: str, *, wanted: list[str], given: list[str]) -> Reason:
    missing = [name for name in dict.fromkeys(wanted) if name not in given]
    return Reason("completion", kind, f"{what}: {_listed(missing)}", [*wanted], [*given])


def _values(record: EvalRecord) -> Reason:
    slots = {slot.name: slot for slot in record.required_slots if slot.value is not None}
    findings = {finding.slot: finding for finding in found(record) or ()}
    given = {name: finding.value for name, finding in findings.items()}
    wrong = [
        name
        for name, slot in slots.items()
        if name not in findings or not is_value(findings[name], slot, record)
    ]
    text = f"slots without their right value: {_listed(wrong)}"
    expected = {name: slots[name].value for name in wrong}
    return Reason("completion", "wrong_values", text, expected, {name: given.get(name) for name in wrong})


def _tools(record: EvalRecord) -> Reason:
    wanted = _names(record.expected_tools or ())
    made = _names(record.calls_made or ())
    text = f"tools called: {_listed(made)}; expected: {_listed(wanted)}"
    return Reason("completion", "tools_differ", text, [*wanted], [*made])


def _arguments(record: EvalRecord) -> Reason:
    pairs = pairing(record.expected_tools or (), record.calls_made or ()).pairs
    unequal = [
        (f"{wanted.name}.{name}", value, made.arguments.get(name))
        for wanted, made in pairs
        for name, value in wanted.arguments.items()
        if name not in made.arguments or not same(made.arguments[name], value)
    ]
    text = f"arguments differ: {_listed([name for name, _, _ in unequal])}"
    expected, given = ({name: pair[side] for name, *pair in unequal} for side in (0, 1))
    return Reason("completion", "wrong_arguments", text, expected, given)


def _fallback(record: EvalRecord) -> Reason:
    text = "answered that nothing was found, though documents were needed"
    return Reason("answer", "fallback_answer", text, record.reference, record.response)


def _names(made: Iterable[ToolCall]) -> list[str]:
    return [call.name for call in made]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"
