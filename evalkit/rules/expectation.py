"""What a case's expectation implies: each of its fields is a hard rule of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pydantic import JsonValue

from evalkit.contracts import Case, EvalRecord, Expectation, RuleSpec, ToolCall, Turn, Verdict
from evalkit.finding import found, steps

__all__ = ["implied", "should_succeed"]

_RULE = "should_succeed"


def _rule(name: str, **params: JsonValue) -> RuleSpec:
    return RuleSpec(type=name, params=params)


_EVERY = "every_agent_turn"
_IMPLIED: dict[str, Callable[[Any], RuleSpec]] = {
    "behavior": lambda text: _rule("llm_score", criteria=text, evaluation_scope="full_dialog"),
    "keywords": lambda words: _rule("keyword_match", keywords=[*words]),
    "forbidden": lambda words: _rule("keyword_match", forbidden=[*words], evaluation_scope=_EVERY),
    "max_latency_ms": lambda limit: _rule("response_time", max_latency_ms=limit, evaluation_scope=_EVERY),
    "should_succeed": lambda expected: _rule(_RULE, expected=expected),
}
_NOTHING = (None, (), "")


def implied(expectation: Expectation | None) -> list[tuple[str, RuleSpec]]:
    """The rules that the expectation stands for, each with the name of its field.

    Keywords are looked for in the last reply; forbidden words and late answers in every one; `behavior` is
    put to a judge, over the whole dialog.
    """
    given = {name: getattr(expectation, name, None) for name in _IMPLIED}
    return [(name, _IMPLIED[name](value)) for name, value in given.items() if value not in _NOTHING]


def should_succeed(case: Case, dialog: Sequence[Turn], *, expected: bool = True) -> Verdict:
    """1 where the target did what it was asked if that is `expected`, or did not if it is not; else 0.

    It did where all that the case requires is found in the dialog; without requirements, where it called tools
    and the last call of each came back without an error. Where neither tells it is undecided.
    """
    done, why = _done(case, dialog)
    return Verdict(
        rule=_RULE,
        passed=None if done is None else done is expected,
        score=None if done is None else float(done is expected),
        reason=why,
        scope="full_dialog",
        detail={"succeeded": done, "expected": expected},
    )


def _done(case: Case, dialog: Sequence[Turn]) -> tuple[bool | None, str]:
    """Whether the target did it, and what shows that."""
    if isinstance(case, EvalRecord) and (case.required_slots or case.required_steps):
        return _complete(case)
    calls = _calls(case, dialog)
    if not calls:
        return None, "nothing is required and no tool was called: nothing tells whether it succeeded"
    failed = sorted(call.name for call in {call.name: call for call in calls}.values() if call.error)
    return (
        not failed,
        f"calls failed: {', '.join(failed)}" if failed else "every tool came back without an error",
    )


def _complete(record: EvalRecord) -> tuple[bool | None, str]:
    slots, done = found(record), steps(record)
    if slots is None or done is None:
        return None, "what was said and reported does not tell what was done"
    lacks = {slot.name for slot in record.required_slots} - {one.slot for one in slots}
    lacks |= {step.name for step in record.required_steps} - {one.step for one in done if one.in_order}
    return not lacks, f"lacks {', '.join(sorted(lacks))}" if lacks else "all that is required was found"


def _calls(case: Case, dialog: Sequence[Turn]) -> list[ToolCall]:
    """The calls in order: of the turns, else of the record."""
    calls = [call for turn in dialog for call in turn.tool_calls]
    return calls or list((isinstance(case, EvalRecord) and case.tool_calls) or ())
