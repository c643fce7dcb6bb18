"""Are the retrieved texts that matter ranked first? Text by text, against the reference."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import merged, truths
from evalkit.judges.measures.material import contexts, numbered, question
from evalkit.kinds import Judge
from evalkit.questions.wording import phrase
from evalkit.questions.wording import text as prompt

__all__ = ["context_precision", "mean_precision"]


async def context_precision(record: EvalRecord, *, judge: Judge) -> Judgement | None:
    """Mean of precision@k over the ranks k of the texts that help to the reference; none helps: 0.

    Applies to retrieved texts with a reference. The mean is over the useful texts that were found, unlike MAP,
    which divides by all that there are. `detail["contexts"]` has each verdict by rank. Source: the RAGAS
    documentation, Context Precision.
    """
    texts = contexts(record) if record.evidence_status == "ok" else ()
    if not texts or not (record.reference or "").strip():
        return None
    named = numbered("context", texts)
    found = await judge(
        Question(
            name="context_precision",
            task=prompt("context_precision"),
            material={"question": question(record), "reference": record.reference or "", **named},
            items={name: phrase("useful", name=name) for name in named},
        )
    )
    if found.status != "ok":
        return found
    useful = [truths(found)[name] for name in named]
    told = [{"rank": rank, "useful": flag} for rank, flag in enumerate(useful, start=1)]
    return merged([found], score=mean_precision(useful), contexts=told)


def mean_precision(useful: Sequence[bool]) -> float:
    """Mean over the ranks k of useful texts of useful texts within k ÷ k; 0 where none is useful."""
    hits = [rank for rank, flag in enumerate(useful, start=1) if flag]
    precisions = [place / rank for place, rank in enumerate(hits, start=1)]
    return sum(precisions) / len(hits) if hits else 0.0
