"""What a dialog shows, found without a model: slots with their values, steps in their order, each with its evidence.

Metrics and rules both look through this.
"""

from __future__ import annotations

from evalkit.finding.disagreements import Disagreement, disagreements
from evalkit.finding.slots import Evidence, Finding, Trust, evidence, found, is_value
from evalkit.finding.steps import StepFinding, steps
from evalkit.finding.typed import canonical

__all__ = [
    "Disagreement",
    "Evidence",
    "Finding",
    "StepFinding",
    "Trust",
    "canonical",
    "disagreements",
    "evidence",
    "found",
    "is_value",
    "steps",
]
