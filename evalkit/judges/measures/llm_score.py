"""How good is the answer? Several dimensions in one call."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import merged
from evalkit.judges.measures.material import answered, transcript
from evalkit.judges.prompts import text as prompt
from evalkit.kinds import Judge

__all__ = ["DIMENSIONS", "llm_score"]

DIMENSIONS = {
    "correctness": "事实正确：与 reference 一致；没有 reference 时，不自相矛盾、不编造政策、价格和时限",
    "completeness": "完整可执行：用户问到的每一点都得到回答，并给出下一步怎么做",
    "tone": "语气得体：礼貌、直接、不推诿，不答非所问",
}
"""What is graded unless told otherwise."""


async def llm_score(
    record: EvalRecord, *, judge: Judge, dimensions: Mapping[str, str] = DIMENSIONS
) -> Judgement | None:
    """Mean grade ÷ 10 over the dimensions, all asked in one call; `detail["dimensions"]` has each grade.

    Applies to every answer. The judge reads the whole dialog.
    """
    if not answered(record):
        return None
    gold = {"reference": record.reference} if record.reference else {}
    found = await judge(
        Question(
            name="llm_score",
            task=prompt("llm_score"),
            material={"dialog": transcript(record), **gold},
            dimensions=dict(dimensions),
        )
    )
    if found.status != "ok":
        return found
    return merged([found], score=found.score, dimensions=found.detail["dimensions"])
