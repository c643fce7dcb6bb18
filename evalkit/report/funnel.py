"""Where the samples fall out on their way: channel, intent, retrieval, completion and tools, answer.

Each failed sample is charged to the first gate that it broke, and to the first reason there; the charges of
all gates add up to the failures, and those of the reasons to their gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from evalkit.report.charges import Charges
from evalkit.report.gains import Gain
from evalkit.report.lots import Lots
from evalkit.report.reasons import GATES, Gate

__all__ = ["Funnel", "Stage", "funnel"]


@dataclass(frozen=True, slots=True)
class Stage:
    """One gate: `entered` samples came to it, `charged` of them broke it first, by `kinds` of reason.

    `gain` is how far the share of samples that pass would rise if nothing broke here.
    """

    gate: Gate
    entered: int
    charged: int
    kinds: Mapping[str, int]
    gain: Gain

    @property
    def left(self) -> int:
        """The samples that came through."""
        return self.entered - self.charged


@dataclass(frozen=True, slots=True)
class Funnel:
    """All gates in their order; what is left after the last has `passed`.

    `unjudged` samples had nothing that a gate could be held against, or undecided rules, and never entered.
    """

    stages: tuple[Stage, ...]
    passed: int
    unjudged: int

    @property
    def failed(self) -> int:
        """The samples charged to some gate."""
        return sum(stage.charged for stage in self.stages)

    @property
    def judged(self) -> int:
        """The samples that entered."""
        return self.failed + self.passed


def funnel(charges: Charges) -> Funnel:
    """The funnel of a run; gates and reasons are those of its failures."""
    stages: list[Stage] = []
    entered = charges.n_judged
    for gate in GATES:
        stages.append(_stage(charges, gate, entered))
        entered = stages[-1].left
    return Funnel(tuple(stages), entered, charges.n - charges.n_judged)


def _stage(charges: Charges, gate: Gate, entered: int) -> Stage:
    mine = charges.gates.get(gate)
    if mine is None:
        return Stage(gate, entered, 0, {}, charges.gain(charges.everyone, Lots(), Lots()))
    won = charges.gain(charges.everyone, mine.inside, mine.outside)
    return Stage(gate, entered, mine.n, dict(mine.by_kind.most_common()), won)
