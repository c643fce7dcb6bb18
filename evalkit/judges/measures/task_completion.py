"""Did the dialog get the task done, in the eyes of a judge who reads all of it?"""

from __future__ import annotations

from evalkit.contracts import EvalRecord, Judgement
from evalkit.judges.measures.claims import merged
from evalkit.judges.measures.material import answered
from evalkit.kinds import Judge
from evalkit.questions.dialogs import exchanges, transcript
from evalkit.questions.tasks import asks_completion, completed

__all__ = ["task_completion"]


async def task_completion(
    record: EvalRecord, *, judge: Judge, slot_weight: float = 0.4, step_weight: float = 0.6
) -> Judgement | None:
    """Weighted mean of the shares of required slots filled and of required steps done; alone where only one is asked.

    Applies to an answered dialog with required slots or steps. A step counts after those that it waits for.
    `detail` has `slots` and `steps`, true or false by name, and in `violations` what a step done too early lacks.
    """
    required, wanted = record.required_slots, record.required_steps
    if not answered(record) or not (required or wanted):
        return None
    found = await judge(asks_completion(required, wanted, dialog=transcript(exchanges(record))))
    if found.status != "ok":
        return found
    seen = completed(found, required, wanted)
    if seen is None:
        raise TypeError("wanted a yes or no to each item of a judgement that is ok")
    slots = {slot.name: slot.name in seen.slots for slot in required}
    steps = {step.name: step.name in seen.steps for step in wanted}
    score = _score(slots, steps, (slot_weight, step_weight))
    early = {"violations": {name: [*lacks] for name, lacks in seen.early.items()}} if seen.early else {}
    return merged([found], score=score, slots=slots, steps=steps, **early)


def _score(slots: dict[str, bool], steps: dict[str, bool], weights: tuple[float, float]) -> float:
    shares = [
        (weight, sum(part.values()) / len(part))
        for weight, part in zip(weights, (slots, steps), strict=True)
        if part
    ]
    return sum(weight * share for weight, share in shares) / sum(weight for weight, _ in shares)
