"""How good is the answer? Several dimensions in one call."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.contracts import EvalRecord, Judgement
from evalkit.judges.measures.claims import merged
from evalkit.judges.measures.material import answered
from evalkit.kinds import Judge
from evalkit.questions.dialogs import exchanges, transcript
from evalkit.questions.tasks import asks_grades
from evalkit.questions.wording import named

__all__ = ["llm_score"]


async def llm_score(
    record: EvalRecord, *, judge: Judge, dimensions: Mapping[str, str] | None = None
) -> Judgement | None:
    """Mean grade ÷ 10 over the dimensions, all asked in one call; `detail["dimensions"]` has each grade.

    Applies to every answer. The judge reads the whole dialog. Each dimension has its criteria; without any
    they are correctness, completeness and tone.
    """
    if not answered(record):
        return None
    gold = {"reference": record.reference} if record.reference else {}
    material = {"dialog": transcript(exchanges(record)), **gold}
    found = await judge(asks_grades(dimensions or named("dimensions"), material=material))
    if found.status != "ok":
        return found
    return merged([found], score=found.score, dimensions=found.detail["dimensions"])
