"""Do the retrieved texts hold what the reference says? Claim by claim."""

from __future__ import annotations

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import claims_of, listed, merged, truths
from evalkit.judges.measures.material import contexts, numbered, question
from evalkit.kinds import Judge
from evalkit.questions.wording import text as prompt

__all__ = ["context_recall"]


async def context_recall(record: EvalRecord, *, judge: Judge) -> Judgement | None:
    """Claims of the reference that the retrieved texts support ÷ all claims of the reference.

    Applies to retrieved texts with a reference; a reference that claims nothing has no score.
    `detail["claims"]` has each claim with its verdict. Source: the RAGAS documentation, Context Recall.
    """
    texts = contexts(record) if record.evidence_status == "ok" else ()
    if not texts or not (record.reference or "").strip():
        return None
    first = await claims_of(record.reference or "", question=question(record), judge=judge)
    if first.status != "ok":
        return first
    claims = numbered("claim", listed(first, "claims"))
    if not claims:
        return merged([first], score=None, claims=[])
    second = await judge(
        Question(
            name="context_recall",
            task=prompt("context_recall"),
            material={"question": question(record), "contexts": "\n\n".join(texts)},
            items=claims,
        )
    )
    if second.status != "ok":
        return second
    told = [{"claim": claim, "attributed": truths(second)[name]} for name, claim in claims.items()]
    return merged([first, second], score=sum(truths(second).values()) / len(claims), claims=told)
