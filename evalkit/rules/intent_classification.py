"""Did the target understand what the user wants? Its own prediction tells, or a judge who reads the dialog."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Literal, NamedTuple

from evalkit.contracts import Case, EvalRecord, Judgement, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.kinds import Judge
from evalkit.questions.dialogs import transcript
from evalkit.questions.tasks import asks_intent, is_partial
from evalkit.rules.judged import no_judge, without_verdict
from evalkit.rules.params import By, Label
from evalkit.rules.scope import DialogScope

__all__ = ["intent_classification"]

_RULE = "intent_classification"
_GRADES: dict[str, float] = {"correct": 1.0, "partial": 0.5, "wrong": 0.0}
_Grade = Literal["correct", "partial", "wrong"]


class _Asked(NamedTuple):
    """What is wanted: the intent, what else it could be, and how strictly."""

    expected: str
    taxonomy: Mapping[str, str]
    accept_partial: bool
    scope: DialogScope

    def verdict(self, grade: _Grade, predicted: str | None, **detail: str | bool) -> Verdict:
        """The verdict of that grade."""
        return Verdict(
            rule=_RULE,
            passed=grade == "correct" or (grade == "partial" and self.accept_partial),
            score=_GRADES[grade],
            reason=f"{grade}: {predicted or 'no intent'}, wanted {self.expected}",
            scope=self.scope,
            detail={"grade": grade, "predicted": predicted, "expected": self.expected, **detail},
        )

    def undecided(self, reason: str) -> Verdict:
        """No verdict, and why."""
        return Verdict(rule=_RULE, passed=None, reason=reason, scope=self.scope)


def intent_classification(
    case: Case,
    dialog: Sequence[Turn],
    *,
    expected_intent: Label | None = None,
    intent_taxonomy: Mapping[Label, str] | None = None,
    accept_partial: bool = False,
    evaluation_scope: DialogScope = "full_dialog",
    by: By | None = None,
    judge: Judge | None = None,
) -> Verdict | Awaitable[Verdict]:
    """1 for the right intent, 0.5 for part of it, 0 for another; partial passes with `accept_partial`.

    The expected intent is the case's `intent_l2` unless one is given. `by` is the judge where there is one and
    a taxonomy to choose from, else the target's own prediction: right is the first one, partial a later one.
    A prediction that is no label of the taxonomy cannot be compared: undecided, as without any judgement.
    UsageError where the taxonomy lacks the expected intent. Source: mission, rule `intent_classification`.
    """
    expected = expected_intent or case.intent_l2
    if not expected:
        raise UsageError(
            f"{_RULE}: found no expected_intent, and no intent_l2 in the case, wanted one of them."
        )
    asked = _Asked(expected, _taxonomy(intent_taxonomy, expected, by), accept_partial, evaluation_scope)
    if by == "judge" and judge is None:
        return no_judge(_RULE, evaluation_scope)
    if judge is None or by == "extractor" or not asked.taxonomy:
        return _predicted(case, dialog, asked)
    return _judged(judge, dialog, asked)


def _taxonomy(given: Mapping[str, str] | None, expected: str, by: By | None) -> Mapping[str, str]:
    """The labels to choose from; none where none were given."""
    if given is not None and expected not in given:
        known = ", ".join(given) or "none"
        raise UsageError(
            f"{_RULE}: found expected_intent {expected!r}, wanted a label of the taxonomy: {known}."
        )
    if given is None and by == "judge":
        raise UsageError(f"{_RULE}: found no intent_taxonomy, wanted one for the judge to choose from.")
    return given or {}


def _predicted(case: Case, dialog: Sequence[Turn], asked: _Asked) -> Verdict:
    """By what the target said that it saw."""
    if isinstance(case, EvalRecord) and case.evidence_status != "ok":
        return asked.undecided(f"the evidence channel ended in {case.evidence_status}")
    seen = _intents(case, dialog, asked.scope)
    if not seen:
        return asked.undecided("the target tells no intent: needs a judge")
    if asked.taxonomy and seen[0] not in asked.taxonomy:
        return asked.undecided(f"the predicted {seen[0]!r} is no label of the taxonomy: needs a judge")
    if seen[0] == asked.expected:
        return asked.verdict("correct", seen[0])
    return asked.verdict("partial" if asked.expected in seen else "wrong", seen[0])


def _intents(case: Case, dialog: Sequence[Turn], scope: DialogScope) -> list[str]:
    """The intents that the target saw, in order: turn by turn, else those of the record."""
    turns = dialog[-1:] if scope == "last_turn" else dialog
    by_turn = [turn.intent_pred for turn in turns if turn.intent_pred]
    if by_turn or not isinstance(case, EvalRecord):
        return by_turn
    return [intent for intent in (case.intent_pred, *case.intent_pred_all) if intent]


async def _judged(judge: Judge, dialog: Sequence[Turn], asked: _Asked) -> Verdict:
    """By a judge: the intent that the replies serve, and else whether they come near."""
    if not dialog:
        return asked.undecided("nothing was said")
    turns = dialog[-1:] if asked.scope == "last_turn" else dialog
    judgement = await judge(asks_intent(asked.taxonomy, dialog=transcript(turns), expected=asked.expected))
    if judgement.status != "ok":
        return without_verdict(_RULE, asked.scope, judgement)
    if judgement.label not in asked.taxonomy:
        return without_verdict(_RULE, asked.scope, judgement, lacks="a label of the taxonomy")
    grade = _grade(judgement, asked.expected)
    return asked.verdict(grade, judgement.label, judge=judgement.judge, cached=judgement.cached)


def _grade(judgement: Judgement, expected: str) -> _Grade:
    if judgement.label == expected:
        return "correct"
    return "partial" if is_partial(judgement) else "wrong"
