"""Which steps were taken, and in which order: the extractor of deeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord, StepSpec, ToolCall
from evalkit.finding.denial import negated
from evalkit.finding.literals import literal, whole
from evalkit.finding.said import Said, said

__all__ = ["StepFinding", "steps"]


class StepFinding(NamedTuple):
    """A step that was taken: where, and whether the steps it waits for were done before (`in_order`).

    `span` is null where a tool call or the target's report shows the step, `turn` too in a report. `lacks`
    names the steps that were not done in their order when it was taken.
    """

    step: str
    turn: int | None
    span: tuple[int, int] | None
    source: Literal["target", "agent", "tool"]
    in_order: bool
    lacks: tuple[str, ...] = ()


class _Sign(NamedTuple):
    """A sign that a step was taken; signs of one record are ordered by `place`."""

    place: tuple[int, ...]
    turn: int | None
    span: tuple[int, int] | None
    source: Literal["target", "agent", "tool"]


def steps(record: EvalRecord) -> list[StepFinding] | None:
    """The required steps that were taken, each with its evidence, in the order they are required.

    What the target reports decides, if it reports anything; the order of the report is that of the steps.
    Else a step is taken where its tool is called or the agent says one of its keywords. The first sign after
    the steps named in `after` counts; a step that has none but earlier ones is out of order. Null where that
    cannot be known: no report, and nothing was said, or a step whose sign was not recorded or is not named.
    """
    required = {step.name: step for step in record.required_steps}
    if not required:
        return []
    signs = _reported(record, required) if record.done_steps is not None else _observed(record, required)
    if signs is None:
        return None
    done = _in_order(required, signs)
    return [_finding(required[name], seen[0], done) for name, seen in signs.items() if seen]


def _finding(step: StepSpec, first: _Sign, done: Mapping[str, _Sign]) -> StepFinding:
    """The step by its sign in order, else by its first, with the steps that were to come before and did not."""
    sign = done.get(step.name)
    if sign:
        return StepFinding(step.name, *sign[1:], in_order=True)
    lacks = tuple(name for name in step.after if name not in done or done[name].place >= first.place)
    return StepFinding(step.name, *first[1:], in_order=False, lacks=lacks)


def _in_order(required: Mapping[str, StepSpec], signs: Mapping[str, list[_Sign]]) -> dict[str, _Sign]:
    """Each step's first sign after all that it waits for; steps that wait for ever have none.

    In each round the steps that wait for nothing more find theirs, so as many rounds as steps are enough.
    """
    done: dict[str, _Sign] = {}
    for _ in required:
        ready = [step for step in required.values() if done.keys() >= set(step.after)]
        for step in ready:
            start = max((done[name].place for name in step.after), default=())
            late = [sign for sign in signs[step.name] if sign.place > start]
            done.update({step.name: late[0]} if late else {})
    return done


def _reported(record: EvalRecord, required: Mapping[str, StepSpec]) -> dict[str, list[_Sign]]:
    """The signs in the target's own report."""
    report = list(enumerate(record.done_steps or ()))
    return {
        name: [_Sign((place,), None, None, "target") for place, done in report if done == name]
        for name in required
    }


def _observed(record: EvalRecord, required: Mapping[str, StepSpec]) -> dict[str, list[_Sign]] | None:
    """The signs in calls and words; null where they cannot be known."""
    texts, calls = said(record), _calls(record)
    if texts is None or not all(
        step.keywords or (step.tool and calls is not None) for step in required.values()
    ):
        return None
    return {
        name: sorted([*_called(step, calls or ()), *_spoken(step, texts)]) for name, step in required.items()
    }


def _calls(record: EvalRecord) -> list[tuple[ToolCall, ...]] | None:
    """The tool calls of each turn, null if none were told; calls without a turn stand in the last one."""
    turns = [turn.tool_calls for turn in record.dialog]
    if any(turns):
        return turns
    return None if record.tool_calls is None else [*[()] * (len(turns) - 1), record.tool_calls]


def _called(step: StepSpec, calls: Sequence[Sequence[ToolCall]]) -> Iterator[_Sign]:
    """Where the step's tool is called."""
    for turn, made in enumerate(calls):
        for place, call in enumerate(made):
            if call.name == step.tool:
                yield _Sign((turn, 0, place), turn, None, "tool")


def _spoken(step: StepSpec, texts: Sequence[Said]) -> Iterator[_Sign]:
    """Where the agent says a keyword of the step; in each turn that is after its calls."""
    patterns = [whole(way) for way in map(literal, step.keywords) if way]
    for text in (text for text in texts if text.source == "agent"):
        for match in (match for pattern in patterns for match in pattern.finditer(text.plain)):
            span = text.span(*match.span())
            if span and not negated(text.plain, match.start()):
                yield _Sign((text.turn, 1, span[0]), text.turn, span, "agent")
