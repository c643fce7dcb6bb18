"""Does the answer say what the reference says, no more and no less? Claim by claim, and as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import claims_of, cosine, listed, merged, truths
from evalkit.judges.measures.material import answered, numbered, question
from evalkit.kinds import Embed, Judge
from evalkit.questions.wording import text as prompt

__all__ = ["answer_correctness", "claims_f1"]


async def answer_correctness(
    record: EvalRecord, *, judge: Judge, embed: Embed, weights: tuple[float, float] = (0.75, 0.25)
) -> Judgement | None:
    """Weighted mean of the F1 of claims against the reference and of the cosine of both texts.

    Applies to an answer with a reference; where either claims nothing there is no score. `detail` has each
    claim with its verdict, `f1` and `similarity`. A mean below 0, from a negative cosine, counts as 0. Source:
    the RAGAS documentation, Answer Correctness.
    """
    if not answered(record) or not (record.reference or "").strip():
        return None
    answer, reference = record.response or "", record.reference or ""
    parts = [await claims_of(text, question=question(record), judge=judge) for text in (answer, reference)]
    failed = next((part for part in parts if part.status != "ok"), None)
    if failed is not None:
        return failed
    said, wanted = (listed(part, "claims") for part in parts)
    if not said or not wanted:
        return merged(parts, score=None, answer_claims=said, reference_claims=wanted)
    items = {**numbered("answer", said), **numbered("reference", wanted)}
    compared = await judge(_question(answer, reference, items))
    if compared.status != "ok":
        return compared
    similarity = cosine(*await embed([answer, reference]))
    return _judgement([*parts, compared], items, similarity, weights)


def claims_f1(true_positives: int, false_positives: int, false_negatives: int) -> float:
    """TP ÷ (TP + ½ (FP + FN)); without any true positive 0."""
    if not true_positives:
        return 0.0
    return true_positives / (true_positives + 0.5 * (false_positives + false_negatives))


def _question(answer: str, reference: str, items: Mapping[str, str]) -> Question:
    return Question(
        name="answer_correctness",
        task=prompt("answer_correctness"),
        material={"answer": answer, "reference": reference},
        items=dict(items),
    )


def _judgement(
    parts: list[Judgement], items: Mapping[str, str], similarity: float, weights: tuple[float, float]
) -> Judgement:
    holds = truths(parts[-1])
    told: dict[str, list[dict[str, Any]]] = {
        f"{side}_claims": [
            {"claim": claim, "supported": holds[name]}
            for name, claim in items.items()
            if name.startswith(side)
        ]
        for side in ("answer", "reference")
    }
    said = [entry["supported"] for entry in told["answer_claims"]]
    missed = [entry["supported"] for entry in told["reference_claims"]].count(False)
    f1 = claims_f1(said.count(True), said.count(False), missed)
    score = (weights[0] * f1 + weights[1] * similarity) / sum(weights)
    return merged(parts, score=max(0.0, score), f1=f1, similarity=similarity, **told)
