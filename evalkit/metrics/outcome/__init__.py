"""What became of each task, in three layers: was the intent understood, how much was done, did it succeed?

The first two are told by the verdicts of rules, or by the labels of the case; the third is a policy over
both. What was not measured stays unknown, and the bounds say how much that could matter.
"""

from __future__ import annotations

from evalkit.metrics.outcome.layers import Layers, layers
from evalkit.metrics.outcome.policies import Levels, compute, levels, outcomes, spare
from evalkit.metrics.outcome.repeats import passes

__all__ = ["Layers", "Levels", "compute", "layers", "levels", "outcomes", "passes", "spare"]
