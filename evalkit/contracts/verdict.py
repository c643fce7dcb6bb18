"""What is decided about one sample: by a rule (Verdict), by a model (Judgement), and in all (Outcome).

Null is undecided, never fail: the reason says why nothing could be said.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from evalkit.contracts.case import Layer
from evalkit.contracts.observation import Usage
from evalkit.contracts.values import Frozen, NullAsNoKeys

__all__ = ["Judgement", "Outcome", "Question", "Scope", "SuccessLevel", "Verdict"]

Scope = Literal["last_turn", "any_turn", "every_agent_turn", "full_dialog"]
"""What of a dialog a rule looked at: the last reply, the best of the replies, each of them, or all of it."""

SuccessLevel = Literal["success", "partial", "failure"]
"""How far a task got."""

Detail = Annotated[dict[str, JsonValue], NullAsNoKeys]
Texts = Annotated[dict[str, str], NullAsNoKeys]


class Verdict(Frozen):
    """What one rule says of one sample."""

    rule: str
    """The rule's wire name; `expectation.…` for the hard rules that a case's expectation implies."""
    passed: bool | None
    """Whether it holds; null: undecided, the reason says why."""
    score: float | None = Field(default=None, ge=0, le=1)
    """How far it holds, from 0 to 1; null where that could not be measured."""
    reason: str = ""
    """Why, in one sentence."""
    scope: Scope
    """What of the dialog the rule looked at."""
    detail: Detail = Field(default_factory=dict)
    """What was found, rule by rule: matched words, missing slots, violations, …"""
    weight: float = Field(default=1.0, gt=0)
    """Its weight among the other rules, where they are weighed."""
    hard: bool = False
    """Whether failing it fails the case whatever the other rules say."""
    layer: Layer | None = None
    """What of the outcome it tells, besides whether the rules hold."""


class Question(Frozen):
    """What a judge is asked of one sample: grades for dimensions, one label of several, or yes and no.

    `task` and the meanings are ours and trusted; `material` is what the target and the user said, and hostile.
    """

    name: str
    """Who asks: the rule or metric, `llm_score`, `faithfulness`, …"""
    task: str
    """What is to be judged, in words."""
    material: Texts = Field(default_factory=dict)
    """The texts to be judged, by role: `dialog`, `question`, `answer`, `reference`, …"""
    dimensions: Texts = Field(default_factory=dict)
    """What to grade from 0 to 10: each name with its criteria."""
    labels: Texts = Field(default_factory=dict)
    """The labels of which exactly one is to be chosen, each with its meaning."""
    items: Texts = Field(default_factory=dict)
    """What is true or not of the material: each name with its statement."""
    lists: Texts = Field(default_factory=dict)
    """What to list from the material: each name with what belongs on the list."""


class Judgement(Frozen):
    """What a model says to one question."""

    score: float | None = Field(default=None, ge=0, le=1)
    """From 0 to 1: the mean grade ÷ 10, or the share of items that hold; null for labels and without a verdict."""
    label: str | None = None
    """The label chosen, where one was to be chosen."""
    reason: str = ""
    """Why, in the judge's words; or why there is no verdict."""
    detail: Detail = Field(default_factory=dict)
    """By name: grades from 0 to 10 in `dimensions`, true or false in `items`, texts in `lists`; and what else was said."""
    status: Literal["ok", "judge_error", "judge_refused", "over_budget"] = "ok"
    """Whether there is a verdict, and why there is none."""
    judge: str = ""
    """The model and the version of the judge that used it."""
    cached: bool = False
    """Whether the verdict was given before, to the same question."""
    usage: Usage | None = None
    """Tokens as the server counted them; null where it did not, and for a cached verdict."""


class Outcome(Frozen):
    """What became of one sample: the intent, how far the task got, and whether it succeeded."""

    sample_id: str
    """The case."""
    repeat: int = Field(default=0, ge=0)
    """Which repeat of it."""
    intent_passed: bool | None = None
    """The first layer: whether the intent was understood; null where that is not known."""
    completion: float | None = Field(default=None, ge=0, le=1)
    """The second layer: how much of the task was done; null where that is not known."""
    success_level: SuccessLevel | None = None
    """The third layer, by the policy; null where the first two do not decide it."""
    success_least: SuccessLevel | None = None
    """The third layer if all that is unknown were bad; null where there is no task."""
    success_most: SuccessLevel | None = None
    """The third layer if all that is unknown were good; null where there is no task."""
    passed: bool | None = None
    """Whether the rules hold, by the case's logic; null: undecided."""
    decided_by: str = ""
    """The verdict or verdicts that decided `passed`, or that left it undecided."""
    verdicts: tuple[Verdict, ...] = ()
    """All verdicts, the hard ones first."""
