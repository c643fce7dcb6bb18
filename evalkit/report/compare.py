"""Two runs compared: what changed, by how much, where, and which samples flipped.

Nothing is compared that may not be: an unequal eval set, metric version or parameter is named and refused.
A verdict is of the family of all changes asked for, so that many slices do not make a finding by chance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evalkit.errors import UnknownName
from evalkit.report.change import Change, Effort, changes
from evalkit.report.completeness import shortfall
from evalkit.report.judging import judged
from evalkit.report.pairs import Pairs, Refusal, pair, refusals
from evalkit.report.snapshot import MetricFacts, Snapshot
from evalkit.report.units import units
from evalkit.stats import FLIP_DRAWS

__all__ = ["Comparison", "Flip", "compare"]

DIMENSIONS = ("intent_l1", "intent_l2")
ALPHA = 0.05
_ROOM = 4


@dataclass(frozen=True, slots=True)
class Flip:
    """One sample that a 0/1 metric sees otherwise now: with what was asked, predicted and answered each time."""

    metric: str
    key: str
    worse: bool
    intent_l2: str | None
    query: str
    base_pred: str | None
    run_pred: str | None
    base_response: str | None
    run_response: str | None


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a comparison found: `changes` by metric, dimension and slice, and `flips`, worse ones first.

    `n_common` samples are paired; keys that are not stand in `added`, `removed` and `changed`, those paired
    under another key in `renamed`. What could not be compared stands in `refusals`, and has no change.
    `family_wise`: verdicts go by Holm, else by q. `family` is how many tests Holm corrects for.
    `same_set`: both are of one known eval set, so that a sample in one of them only was lost by the other.
    `cluster` is the field whose cases were drawn together, `overridden` counts the run's scores that people set.
    `incomplete` says of each side whose manifest tells of missing samples how many are there.
    """

    base_id: str
    run_id: str
    alpha: float
    family_wise: bool
    n_common: int
    changes: tuple[Change, ...]
    flips: tuple[Flip, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    refusals: tuple[Refusal, ...]
    family: int
    same_set: bool
    incomplete: tuple[str, ...]
    cluster: str | None = None
    overridden: Mapping[str, int] = field(default_factory=dict)

    @property
    def decidable(self) -> bool:
        """Whether everything that was asked could be compared, over all samples that were planned."""
        return not self.refusals and not self.incomplete

    @property
    def refused(self) -> bool:
        """Whether nothing at all could be compared."""
        return any(not refusal.metric for refusal in self.refusals)

    def of(self, metric: str, dimension: str = "overall", slice_: str = "") -> Change | None:
        """The change of that metric over that slice; null where there is none."""
        wanted = (metric, dimension, slice_)
        found = (c for c in self.changes if (c.metric, c.dimension, c.slice) == wanted)
        return next(found, None)


def compare(
    base: Snapshot,
    run: Snapshot,
    *,
    metrics: Sequence[str] | None = None,
    dimensions: Sequence[str] = DIMENSIONS,
    alpha: float = ALPHA,
    family_wise: bool = False,
    allow_changed_set: bool = False,
) -> Comparison:
    """The run held against the base, over all metrics that both have unless some are named.

    A change is better or worse where its q is at most `alpha` (expected share of false finds), with
    `family_wise` where its Holm p is (chance of any false find). With `allow_changed_set` unequal eval sets
    compare over the cases that say the same in both. UnknownName for a dimension nobody knows.
    """
    _require(dimensions, run)
    names = [name for name in run.metrics if name in base.metrics] if metrics is None else list(metrics)
    refused = refusals(base, run, names, allow_changed_set=allow_changed_set)
    pairs = pair(base, run)
    forbidden = {refusal.metric for refusal in refused}
    allowed = {name: run.metrics[name] for name in names if not forbidden & {"", name}}
    seen = _changes(pairs, allowed, dimensions, alpha)
    judgement = judged(seen, alpha=alpha, family_wise=family_wise)
    return Comparison(
        base_id=base.run_id,
        run_id=run.run_id,
        alpha=alpha,
        family_wise=family_wise,
        n_common=len(pairs.base),
        changes=judgement,
        flips=tuple(
            flip for name, facts in allowed.items() if facts.is_rate for flip in _flips(pairs, name, facts)
        ),
        added=pairs.added,
        removed=pairs.removed,
        changed=pairs.changed,
        renamed=pairs.renamed,
        refusals=refused,
        family=len({change.evidence for change in judgement if change.p_holm is not None}),
        same_set=bool(base.eval_set_sha256) and base.eval_set_sha256 == run.eval_set_sha256,
        incomplete=tuple(_incomplete(base, run)),
        cluster=run.cluster,
        overridden={name: n for name, n in run.overridden.items() if name in names},
    )


def _incomplete(base: Snapshot, run: Snapshot) -> Iterator[str]:
    for name, side in (("base", base), ("run", run)):
        if side.eval_set_sha256 and not side.complete:
            yield f"the {name} is incomplete: {shortfall(side)}"


def _require(dimensions: Sequence[str], run: Snapshot) -> None:
    known = dict.fromkeys([*DIMENSIONS, *run.by])
    for dimension in dimensions:
        if dimension not in known:
            raise UnknownName("dimension", dimension, known)


def _changes(
    pairs: Pairs, metrics: Mapping[str, MetricFacts], dimensions: Sequence[str], alpha: float
) -> list[Change]:
    """Every change; where there are many, more sign patterns are drawn, so that each can still be found."""
    counted = units(pairs, dimensions)
    tests = (1 + len(counted.slices)) * len(metrics)
    effort = Effort(flips=max(FLIP_DRAWS, math.ceil(_ROOM * tests / alpha)))
    return [
        change
        for name, facts in metrics.items()
        for change in changes(pairs, counted, name, facts, effort=effort)
    ]


def _flips(pairs: Pairs, metric: str, facts: MetricFacts) -> list[Flip]:
    """The pairs that the metric sees otherwise now, worse ones first, each in the order of the keys."""
    before, after = (frame[metric].to_numpy(np.float64) for frame in (pairs.base, pairs.run))
    moved = np.flatnonzero(~np.isnan(before) & ~np.isnan(after) & (before != after))
    fell = (after < before) != facts.lower_is_better
    rows = sorted(moved.tolist(), key=lambda row: not fell[row])
    base, run = pairs.base.iloc[rows], pairs.run.iloc[rows]
    return [
        Flip(metric, key, bool(fell[row]), *texts)
        for row, key, *texts in zip(
            rows,
            base.index,
            base["intent_l2"],
            base["query"],
            base["intent_pred"],
            run["intent_pred"],
            base["response"],
            run["response"],
            strict=True,
        )
    ]
