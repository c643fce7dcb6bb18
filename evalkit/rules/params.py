"""What the parameters of rules are made of: kinds of numbers and words, each with its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from evalkit.contracts.values import Frozen

__all__ = ["By", "Dimension", "Grade", "Label", "PositiveMs", "Ratio", "Severity", "Words", "reaches"]

_SLACK = 1e-9

Ratio: TypeAlias = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Grade: TypeAlias = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
PositiveMs: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Label: TypeAlias = Annotated[str, Field(min_length=1)]
Words: TypeAlias = Sequence[Label | Annotated[Sequence[Label], Field(min_length=1)]]
"""Keywords; a list among them holds alternatives, of which one is enough."""

By: TypeAlias = Literal["extractor", "judge"]
"""Who finds out: what can be seen without a model, or a judge."""


Severity: TypeAlias = Literal["low", "medium", "high"]
"""How bad it is."""


class Dimension(Frozen):
    """One thing to grade from 0 to 10."""

    name: Label
    """The dimension."""
    criteria: Label
    """What earns which grade, in words."""
    min_score: Grade | None = None
    """The grade at which it passes; the rule's own without it."""


def reaches(value: float, threshold: float) -> bool:
    """Whether the value is at least the threshold; 1e-9 of slack is for floating point, not for mercy."""
    return value >= threshold - _SLACK
