"""What a gate holds a run to, as the table [gate] of `evalkit.toml` says it. An unknown key is an error.

[gate]
baseline = "eval_sets/baselines/shop.json"
regression = ["intent_top1", "recall@5"]     # must not get worse, overall and in any slice
by = ["intent_l2"]                           # the slices
[gate.thresholds]                            # at least; at most where lower is better
intent_top1 = 0.8
[gate.max_drop]                              # may fall so far
"recall@5" = 0.02
[gate.slices.intent_l2."*"]                  # every slice, or one by its label
min_n = 5
thresholds = { intent_top1 = 0.5 }
[[gate.known_failures]]
sample_id = "q17"
until = 2026-09-30
reason = "the supplier's manual is being rewritten"
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Literal

from evalkit.errors import UsageError, shown
from evalkit.reading.configuration import document
from evalkit.report.compare import ALPHA, DIMENSIONS
from evalkit.report.settings import (
    any_of,
    day,
    distance,
    many,
    mapping,
    number,
    one_of,
    share,
    table,
    text,
    whole,
)

__all__ = ["KnownFailure", "Policy", "SliceLimits", "parse", "read"]

EVERY = "*"
"""Where the label of a slice is wanted: each slice that has no limits of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceLimits:
    """What one slice must hold to; `min_n` counted samples at least make it worth holding."""

    thresholds: Mapping[str, float] = field(default_factory=dict)
    max_drop: Mapping[str, float] = field(default_factory=dict)
    min_n: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownFailure:
    """A sample that is known to fail: not counted through the day `until`, of one metric or of all."""

    sample_id: str
    until: date
    reason: str
    metric: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a gate holds a run to; the empty one gates nothing, and nothing passes it.

    `thresholds` bound means: from below, from above where lower is better. `regression` names the metrics
    that must not get worse than the baseline, overall and in each slice of `by`, at `alpha` in total over all
    of them (Holm). `max_drop` is how far one may fall all the same, in its slices too; a fall of the whole
    beyond it that is not proven cannot be decided. Without one, no proven fall is allowed, and an unproven one of the whole run beyond
    `undecided_drop` (scores in 0–1) cannot be decided. `min_coverage` is the share of samples that could
    count and must, `min_n` how many must. `suspect`: whether a slice that mostly flipped to wrong, with too
    few cases to prove it, is flagged or stops. `slices` has limits by dimension and label ("*": every other). Cases that share the field `cluster` are drawn and tested together.
    """

    baseline: str | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    regression: tuple[str, ...] = ()
    max_drop: Mapping[str, float] = field(default_factory=dict)
    by: tuple[str, ...] = ("intent_l2",)
    slices: Mapping[str, Mapping[str, SliceLimits]] = field(default_factory=dict)
    alpha: float = ALPHA
    min_coverage: float = 0.95
    min_n: int = 1
    suspect: Literal["flag", "stop"] = "flag"
    undecided_drop: float = 0.05
    known_failures: tuple[KnownFailure, ...] = ()
    cluster: str | None = None

    def __post_init__(self) -> None:
        limited = {"gate.max_drop": self.max_drop}
        for dimension, labels in self.slices.items():
            for label, limits in labels.items():
                limited[f"gate.slices.{dimension}.{label}.max_drop"] = limits.max_drop
        for where, drops in limited.items():
            for metric in drops:
                if metric not in self.regression:
                    raise UsageError(
                        f"{where}: found {metric!r}, which gate.regression does not name; add it there."
                    )

    @property
    def metrics(self) -> frozenset[str]:
        """Every metric that something is asked of."""
        limits = [one for labels in self.slices.values() for one in labels.values()]
        return frozenset(
            [*self.thresholds, *self.regression, *(name for one in limits for name in one.thresholds)]
        )

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The dimensions whose slices are compared."""
        return tuple(name for name in DIMENSIONS if name in self.by or name in self.slices)

    def limits(self, dimension: str, label: str) -> SliceLimits | None:
        """What that slice must hold to beside the rest; null where nothing is asked of it."""
        labels = self.slices.get(dimension, {})
        return labels.get(label, labels.get(EVERY))


def read(path: Path, *, needed: bool = True) -> Policy:
    """The policy in the table [gate] of a TOML file; NoInput without the file, UsageError for what is amiss.

    Unless the table is `needed`, a file without one has the empty policy.
    """
    found = document(path, wanted="a policy: a file with the table [gate]; see `evalkit gate --help`")
    if "gate" in found:
        return parse(found["gate"], where=f"{path}: gate")
    if needed or difflib.get_close_matches("gate", found):
        raise UsageError(f"{path}: found {', '.join(sorted(found)) or 'nothing'}, wanted the table [gate].")
    return Policy()


def parse(found: Mapping[str, Any], *, where: str = "gate") -> Policy:
    """The policy of a table that was read already; UsageError or UnknownName for what is amiss."""
    return Policy(**table(where, found, _POLICY))


def _slice_limits(where: str, value: Any) -> SliceLimits:
    return SliceLimits(**table(where, value, _LIMITS))


def _known_failure(where: str, value: Any) -> KnownFailure:
    return KnownFailure(**table(where, value, _KNOWN, required=("sample_id", "until", "reason")))


def _level(where: str, value: Any) -> float:
    found = share(where, value)
    if not 0 < found < 1:
        raise UsageError(f"{where}: found {shown(value)}, wanted a level between 0 and 1, such as 0.05.")
    return found


_LIMITS = {"thresholds": mapping(number), "max_drop": mapping(distance), "min_n": whole}
_KNOWN = {"sample_id": text, "metric": text, "until": day, "reason": text}
_POLICY = {
    "baseline": text,
    "thresholds": mapping(number),
    "regression": many(text),
    "max_drop": mapping(distance),
    "by": many(one_of(*DIMENSIONS)),
    "slices": any_of(mapping(_slice_limits), DIMENSIONS),
    "alpha": _level,
    "min_coverage": share,
    "min_n": whole,
    "suspect": one_of("flag", "stop"),
    "undecided_drop": share,
    "known_failures": many(_known_failure),
    "cluster": text,
}
