"""Did the dialog get the task done, in the eyes of a judge who reads all of it?"""

from __future__ import annotations

from evalkit.contracts import EvalRecord, Judgement, Question, SlotSpec, StepSpec
from evalkit.judges.measures.claims import merged, truths
from evalkit.judges.measures.material import answered, transcript
from evalkit.judges.prompts import text as prompt
from evalkit.kinds import Judge

__all__ = ["task_completion"]


async def task_completion(
    record: EvalRecord, *, judge: Judge, slot_weight: float = 0.4, step_weight: float = 0.6
) -> Judgement | None:
    """Weighted mean of the shares of required slots filled and of required steps done; alone where only one is asked.

    Applies to an answered dialog with required slots or steps. `detail` has `slots` and `steps`, true or
    false by name.
    """
    if not answered(record) or not (record.required_slots or record.required_steps):
        return None
    items = {f"slot:{slot.name}": _slot(slot) for slot in record.required_slots}
    items |= {f"step:{step.name}": _step(step) for step in record.required_steps}
    found = await judge(
        Question(
            name="task_completion",
            task=prompt("task_completion"),
            material={"dialog": transcript(record)},
            items=items,
        )
    )
    if found.status != "ok":
        return found
    holds = truths(found)
    slots = {slot.name: holds[f"slot:{slot.name}"] for slot in record.required_slots}
    steps = {step.name: holds[f"step:{step.name}"] for step in record.required_steps}
    score = _score(slots, steps, (slot_weight, step_weight))
    return merged([found], score=score, slots=slots, steps=steps)


def _score(slots: dict[str, bool], steps: dict[str, bool], weights: tuple[float, float]) -> float:
    shares = [
        (weight, sum(part.values()) / len(part))
        for weight, part in zip(weights, (slots, steps), strict=True)
        if part
    ]
    return sum(weight * share for weight, share in shares) / sum(weight for weight, _ in shares)


def _slot(slot: SlotSpec) -> str:
    value = f"，且其值为 {slot.value}" if slot.value is not None else ""
    return f"用户给出了信息“{slot.description or slot.name}”{value}"


def _step(step: StepSpec) -> str:
    return f"客服完成了步骤“{step.description or step.name}”"
