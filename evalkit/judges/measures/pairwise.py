"""Which of two answers is better? Asked in both orders, because judges favour a place."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import merged
from evalkit.judges.measures.material import answered, question
from evalkit.kinds import Judge
from evalkit.questions.wording import phrase
from evalkit.questions.wording import text as prompt

__all__ = ["pairwise"]

_SCORES = {"this": 1.0, "tie": 0.5, "other": 0.0}


async def pairwise(record: EvalRecord, *, judge: Judge, others: Mapping[str, EvalRecord]) -> Judgement | None:
    """1 where the record's answer beats that of the other run in both orders, 0 where it loses in both, else 0.5.

    Applies where both runs answered the sample. `label` is `this`, `other` or `tie`; a judge who changes its
    mind with the order says tie, and `detail["swapped"]` tells.
    """
    other = others.get(record.key)
    if other is None or not answered(record) or not answered(other):
        return None
    mine, theirs = record.response or "", other.response or ""
    forth = await judge(_question(record, mine, theirs))
    if forth.status != "ok":
        return forth
    back = await judge(_question(record, theirs, mine))
    if back.status != "ok":
        return back
    winners = (
        {"A": "this", "B": "other"}.get(forth.label or "", "tie"),
        {"A": "other", "B": "this"}.get(back.label or "", "tie"),
    )
    winner = winners[0] if winners[0] == winners[1] else "tie"
    judged = merged([forth, back], score=_SCORES[winner], orders=list(winners), swapped=len(set(winners)) > 1)
    return judged.model_copy(update={"label": winner})


def _question(record: EvalRecord, first: str, second: str) -> Question:
    gold = {"reference": record.reference} if record.reference else {}
    return Question(
        name="pairwise",
        task=prompt("pairwise"),
        material={"question": question(record), "answer_a": first, "answer_b": second, **gold},
        labels={"A": phrase("prefers_a"), "B": phrase("prefers_b"), "tie": phrase("prefers_none")},
    )
