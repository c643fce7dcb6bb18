"""Does the answer say only what the retrieved texts say? Claim by claim."""

from __future__ import annotations

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import claims_of, listed, merged, truths
from evalkit.judges.measures.material import answered, contexts, numbered, question
from evalkit.kinds import Judge
from evalkit.questions.wording import text as prompt

__all__ = ["faithfulness"]


async def faithfulness(record: EvalRecord, *, judge: Judge) -> Judgement | None:
    """Claims of the answer that the retrieved texts support ÷ all claims of the answer.

    Applies to an answer with retrieved texts; an answer that claims nothing has no score. `detail["claims"]`
    has each claim with its verdict. Source: Es et al. (2023), arXiv 2309.15217, section 3.
    """
    if not answered(record) or not contexts(record):
        return None
    asked = question(record)
    first = await claims_of(record.response or "", question=asked, judge=judge)
    if first.status != "ok":
        return first
    claims = numbered("claim", listed(first, "claims"))
    if not claims:
        return merged([first], score=None, claims=[])
    second = await judge(
        Question(
            name="faithfulness",
            task=prompt("faithfulness"),
            material={"question": asked, "contexts": "\n\n".join(contexts(record))},
            items=claims,
        )
    )
    if second.status != "ok":
        return second
    told = [{"claim": claim, "supported": truths(second)[name]} for name, claim in claims.items()]
    supported = sum(truths(second).values())
    return merged([first, second], score=supported / len(claims), claims=told)
