"""How good is the answer, in the eyes of a judge? Grades from 0 to 10, in one or several dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit.contracts import Case, Judgement, Turn, Verdict
from evalkit.errors import UsageError
from evalkit.kinds import Judge
from evalkit.questions.dialogs import DialogFormat, transcript
from evalkit.questions.tasks import asks_grades
from evalkit.rules.judged import without_verdict
from evalkit.rules.params import Dimension, Grade, Label, reaches
from evalkit.rules.scope import DialogScope

__all__ = ["llm_score"]

_RULE = "llm_score"


async def llm_score(
    case: Case,
    dialog: Sequence[Turn],
    *,
    judge: Judge,
    criteria: Label | None = None,
    min_score: Grade = 7.0,
    dimensions: Sequence[Dimension] = (),
    evaluation_scope: DialogScope = "last_turn",
    dialog_format: DialogFormat = "json",
) -> Verdict:
    """Mean grade ÷ 10; it passes where every dimension reaches its `min_score`, else the rule's.

    `criteria` alone is one dimension; given beside `dimensions` it is what they have in common. All dimensions
    are graded in one call. Without a judgement it is undecided. UsageError where there is nothing to grade, or
    a dimension twice. Source: mission, rule `llm_score`.
    """
    wanted = (
        list(dimensions) or [Dimension(name="score", criteria=criteria)] if criteria or dimensions else []
    )
    names = {dimension.name for dimension in wanted}
    if not wanted or len(names) < len(wanted):
        found = "a dimension twice" if wanted else "neither criteria nor dimensions"
        raise UsageError(f"llm_score: found {found}, wanted something to grade, each once.")
    if not dialog:
        return Verdict(rule=_RULE, passed=None, reason="nothing was said", scope=evaluation_scope)
    question = asks_grades(
        {dimension.name: dimension.criteria for dimension in wanted},
        material=_material(case, dialog, evaluation_scope, dialog_format),
        common=criteria if criteria and dimensions else "",
    )
    return _verdict(await judge(question), wanted, min_score, evaluation_scope)


def _material(case: Case, dialog: Sequence[Turn], scope: DialogScope, style: DialogFormat) -> dict[str, str]:
    gold = {"reference": case.reference} if case.reference else {}
    if scope == "full_dialog":
        return {"dialog": transcript(dialog, style), **gold}
    return {"question": dialog[-1].sent_message, "answer": dialog[-1].reply, **gold}


def _verdict(judgement: Judgement, wanted: Sequence[Dimension], least: float, scope: DialogScope) -> Verdict:
    if judgement.status != "ok":
        return without_verdict(_RULE, scope, judgement)
    told: Any = judgement.detail.get("dimensions")
    grades = {one.name: told[one.name] for one in wanted if isinstance(told, dict) and one.name in told}
    if len(grades) < len(wanted):
        return without_verdict(_RULE, scope, judgement, lacks=", ".join(one.name for one in wanted))
    low = [
        f"{one.name} {grades[one.name]:g} under {_least(one, least):g}"
        for one in wanted
        if not reaches(grades[one.name], _least(one, least))
    ]
    return Verdict(
        rule=_RULE,
        passed=not low,
        score=sum(grades.values()) / len(grades) / 10,
        reason="; ".join([*low, judgement.reason] if judgement.reason else low) or "reaches every grade",
        scope=scope,
        detail={"dimensions": grades, "judge": judgement.judge, "cached": judgement.cached},
    )


def _least(dimension: Dimension, least: float) -> float:
    return least if dimension.min_score is None else dimension.min_score
