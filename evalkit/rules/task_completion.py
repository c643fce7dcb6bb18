"""How much of the task was done over the whole dialog: information gathered, steps taken?"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Literal, NamedTuple

from pydantic import JsonValue

from evalkit.contracts import Case, EvalRecord, SlotSpec, StepSpec, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.finding import Finding, StepFinding, Trust, disagreements, found, steps
from evalkit.kinds import Judge
from evalkit.questions.dialogs import transcript
from evalkit.questions.tasks import asks_completion, completed
from evalkit.rules.judged import no_judge, without_verdict
from evalkit.rules.params import By, Ratio, reaches
from evalkit.rules.scope import DialogScope

__all__ = ["task_completion"]

_RULE = "task_completion"
_SLACK = 1e-9
_Found = Mapping[str, Mapping[str, JsonValue]]


class _Asked(NamedTuple):
    """What must be done: slots and steps, what each half weighs, and how much is enough."""

    slots: tuple[SlotSpec, ...]
    steps: tuple[StepSpec, ...]
    weights: tuple[float, float]
    enough: float
    scope: DialogScope
    trust: Trust

    def verdict(self, slots: _Found, done: _Found, **detail: JsonValue) -> Verdict:
        """The verdict over what was found of each slot and step, under its name."""
        rate = self._rate(slots, done)
        lacks = [one.name for one in self.slots if one.name not in slots]
        lacks += [one.name for one in self.steps if one.name not in done]
        return Verdict(
            rule=_RULE,
            passed=reaches(rate, self.enough),
            score=rate,
            reason=f"{rate:.4g} done" + (f"; lacks {', '.join(lacks)}" if lacks else ""),
            scope=self.scope,
            detail={
                "completion_rate": rate,
                "slots": {
                    one.name: {"filled": one.name in slots, **slots.get(one.name, {})} for one in self.slots
                },
                "steps": {
                    one.name: {"done": one.name in done, **done.get(one.name, {})} for one in self.steps
                },
                **detail,
            },
        )

    def _rate(self, slots: _Found, done: _Found) -> float:
        """The share of what is required; of one kind alone unweighed, so that 3 of 5 are exactly 0.6."""
        halves = [
            (self.weights[0], {one.name for one in self.slots}, slots),
            (self.weights[1], {one.name for one in self.steps}, done),
        ]
        shares = [
            (weight, len(names & there.keys()) / len(names)) for weight, names, there in halves if names
        ]
        return shares[0][1] if len(shares) == 1 else sum(weight * share for weight, share in shares)

    def undecided(self, reason: str) -> Verdict:
        """No verdict, and why."""
        return Verdict(rule=_RULE, passed=None, reason=reason, scope=self.scope)


def task_completion(  # noqa: PLR0913 - the parameters of a rule are its configuration
    case: Case,
    dialog: Sequence[Turn],
    *,
    mode: Literal["slot", "step", "hybrid"] = "slot",
    required_slots: Sequence[SlotSpec] = (),
    required_steps: Sequence[StepSpec] = (),
    slot_weight: Ratio = 0.4,
    step_weight: Ratio = 0.6,
    min_completion_rate: Ratio = 1.0,
    evaluation_scope: DialogScope = "full_dialog",
    trust: Trust = "report",
    by: By | None = None,
    judge: Judge | None = None,
) -> Verdict | Awaitable[Verdict]:
    """Share of the required slots filled (`slot`), of the steps done (`step`), or both weighed (`hybrid`).

    It passes from `min_completion_rate` on. Slots and steps are the case's own unless some are given; a hybrid
    of one kind is that kind alone. `by` is the judge where there is one, else what can be seen without: see
    `evalkit.finding`, `trust` is whether the target's report decides or the texts alone. In the scope `last_turn` only the last exchange is looked at, and no report
    of the target about earlier ones. Nothing required, or nothing to be known: undecided. UsageError for
    weights that do not sum to 1. Source: mission, rule `task_completion`.
    """
    if abs(slot_weight + step_weight - 1) > _SLACK:
        raise UsageError(
            f"{_RULE}: found slot_weight {slot_weight} and step_weight {step_weight}, wanted two that sum to 1."
        )
    asked = _Asked(
        tuple(required_slots or case.required_slots) if mode != "step" else (),
        tuple(required_steps or case.required_steps) if mode != "slot" else (),
        (slot_weight, step_weight),
        min_completion_rate,
        evaluation_scope,
        trust,
    )
    if not asked.slots and not asked.steps:
        return asked.undecided(f"no {'slot or step' if mode == 'hybrid' else mode} is required")
    if not dialog:
        return asked.undecided("nothing was said")
    if by == "judge" and judge is None:
        return no_judge(_RULE, evaluation_scope)
    return _seen(case, dialog, asked) if judge is None or by == "extractor" else _judged(judge, dialog, asked)


def _seen(case: Case, dialog: Sequence[Turn], asked: _Asked) -> Verdict:
    """By what can be seen without a model."""
    record = _record(case, dialog, asked)
    slots, done = found(record, trust=asked.trust), steps(record)
    if slots is None or done is None:
        return asked.undecided("what was said and reported does not tell: needs a judge, or what to look for")
    told: dict[str, JsonValue] = {
        "violations": {one.step: [*one.lacks] for one in done if not one.in_order},
        "disagreements": {one.slot: one.kind for one in disagreements(record)},
    }
    return asked.verdict(
        {one.slot: {"value": one.canonical, **_place(one), "evidence": one.evidence} for one in slots},
        {one.step: _place(one) for one in done if one.in_order},
        by="extractor",
        **{name: value for name, value in told.items() if value},
    )


def _place(one: Finding | StepFinding) -> dict[str, JsonValue]:
    return {"turn": one.turn, "span": [*one.span] if one.span else None, "source": one.source}


def _record(case: Case, dialog: Sequence[Turn], asked: _Asked) -> EvalRecord:
    """The dialog as the extractor takes it; for the last turn alone, without what was reported of the others."""
    record = case if isinstance(case, EvalRecord) else EvalRecord.model_construct(**dict(case))
    required = {"required_slots": asked.slots, "required_steps": asked.steps}
    if asked.scope == "full_dialog":
        # An answer without a dialog is read by the extractor with all that the user said before it.
        whole = {} if record.response is not None and not record.dialog else {"dialog": tuple(dialog)}
        return record.model_copy(update={**required, **whole})
    last = dialog[-1].model_copy(update={"filled_slots": None})
    only = {"dialog": (last,), "filled_slots": None, "done_steps": None, "tool_calls": last.tool_calls}
    return record.model_copy(update={**required, **only})


async def _judged(judge: Judge, dialog: Sequence[Turn], asked: _Asked) -> Verdict:
    """By a judge, who says yes or no to each slot and step; a step counts after those that it waits for."""
    turns = dialog[-1:] if asked.scope == "last_turn" else dialog
    judgement = await judge(asks_completion(asked.slots, asked.steps, dialog=transcript(turns)))
    if judgement.status != "ok":
        return without_verdict(_RULE, asked.scope, judgement)
    seen = completed(judgement, asked.slots, asked.steps)
    if seen is None:
        return without_verdict(_RULE, asked.scope, judgement, lacks="a yes or no to each item")
    told: dict[str, JsonValue] = {"by": "judge", "judge": judgement.judge, "cached": judgement.cached}
    if seen.early:
        told["violations"] = {name: [*lacks] for name, lacks in seen.early.items()}
    return asked.verdict({name: {} for name in seen.slots}, {name: {} for name in seen.steps}, **told)
