"""Which intent did the agent serve, in the eyes of a judge who reads the dialog?"""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.contracts import EvalRecord, Judgement
from evalkit.judges.measures.claims import merged
from evalkit.judges.measures.material import answered
from evalkit.kinds import Judge
from evalkit.questions.dialogs import exchanges, transcript
from evalkit.questions.tasks import asks_intent

__all__ = ["intent_classification"]


async def intent_classification(
    record: EvalRecord, *, judge: Judge, labels: Mapping[str, str]
) -> Judgement | None:
    """1 where the judged intent is `intent_l2`, else 0; `label` is the judged one.

    Applies to an answer whose `intent_l2` is among `labels` (each with its meaning, which may be empty).
    """
    if not answered(record) or record.intent_l2 not in labels:
        return None
    found = await judge(asks_intent(labels, dialog=transcript(exchanges(record))))
    if found.status != "ok":
        return found
    judged = merged([found], score=float(found.label == record.intent_l2))
    return judged.model_copy(update={"label": found.label})
