"""Was the task done: the required pieces of information gathered, the required steps taken in order?

Two parts. An extractor finds slots and steps, each finding with its evidence: it trusts the target's own
report where there is one, and else looks for literal matches in the whole dialog, not only in its last turn.
The scores are set operations over the findings.
"""

from __future__ import annotations

from evalkit.metrics.completion.scores import compute
from evalkit.metrics.completion.slots import Finding, found
from evalkit.metrics.completion.steps import StepFinding, steps

__all__ = ["Finding", "StepFinding", "compute", "found", "steps"]
