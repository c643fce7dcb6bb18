"""The questions about tasks: the intent, what was gathered and done, and how good it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evalkit.contracts import Judgement, Question, SlotSpec, StepSpec
from evalkit.questions.wording import phrase, text

__all__ = ["Completed", "asks_completion", "asks_grades", "asks_intent", "completed", "is_partial"]

_PARTIAL = "partial"


class Completed(NamedTuple):
    """What a judge saw done: slots filled, steps done each after those it waits for, and steps done too early."""

    slots: frozenset[str]
    steps: frozenset[str]
    early: Mapping[str, Sequence[str]]


def asks_completion(slots: Sequence[SlotSpec], steps: Sequence[StepSpec], *, dialog: str) -> Question:
    """Whether each slot was filled and each step done: true or false under `slot:…` and `step:…`."""
    items = {f"slot:{slot.name}": _slot(slot) for slot in slots}
    items |= {f"step:{step.name}": phrase("step", meaning=step.description or step.name) for step in steps}
    return Question(
        name="task_completion", task=text("task_completion"), material={"dialog": dialog}, items=items
    )


def _slot(slot: SlotSpec) -> str:
    value = phrase("slot_value", value=str(slot.value)) if slot.value is not None else ""
    return phrase("slot", meaning=slot.description or slot.name) + value


def completed(judgement: Judgement, slots: Sequence[SlotSpec], steps: Sequence[StepSpec]) -> Completed | None:
    """What the answer to `asks_completion` says; null where it lacks a yes or no to some item."""
    told = judgement.detail.get("items")
    names = [f"slot:{slot.name}" for slot in slots] + [f"step:{step.name}" for step in steps]
    if not isinstance(told, dict) or not all(isinstance(told.get(name), bool) for name in names):
        return None
    filled = frozenset(slot.name for slot in slots if told[f"slot:{slot.name}"])
    done = {step.name for step in steps if told[f"step:{step.name}"]}
    lacks = {
        step.name: [name for name in step.after if name not in done] for step in steps if step.name in done
    }
    early = {name: missing for name, missing in lacks.items() if missing}
    return Completed(filled, frozenset(done - early.keys()), early)


def asks_intent(labels: Mapping[str, str], *, dialog: str, expected: str = "") -> Question:
    """Which of the labels the agent took the user to have; for an `expected` one also whether it came near."""
    meaning = labels.get(expected) or expected
    items = {_PARTIAL: phrase("partial_intent", meaning=meaning)} if expected else {}
    return Question(
        name="intent_classification",
        task=text("intent_classification"),
        material={"dialog": dialog},
        labels=dict(labels),
        items=items,
    )


def is_partial(judgement: Judgement) -> bool:
    """Whether the answer to `asks_intent` says that the agent came near."""
    items = judgement.detail.get("items")
    return isinstance(items, dict) and items.get(_PARTIAL) is True


def asks_grades(dimensions: Mapping[str, str], *, material: Mapping[str, str], common: str = "") -> Question:
    """A grade from 0 to 10 for each dimension, all at once; `common` is what its criteria have in common."""
    task = "\n".join(filter(None, (text("llm_score"), common)))
    return Question(name="llm_score", task=task, material=dict(material), dimensions=dict(dimensions))
