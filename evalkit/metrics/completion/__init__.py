"""Was the task done: the required pieces of information gathered, the required steps taken in order?

What was gathered and done is found by `evalkit.finding`, each finding with its evidence. The scores are set
operations over the findings.
"""

from __future__ import annotations

from evalkit.finding import Finding, StepFinding, disagreements, found, steps
from evalkit.metrics.completion.by_slot import SlotReport, slot_report
from evalkit.metrics.completion.scores import compute

__all__ = [
    "Finding",
    "SlotReport",
    "StepFinding",
    "compute",
    "disagreements",
    "found",
    "slot_report",
    "steps",
]
