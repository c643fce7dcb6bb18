"""Absolute thresholds: a mean against a number, unrounded, and only where enough of it was measured."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.report.coverage import SLACK, Ground, coverage, doubt
from evalkit.report.policy import EVERY
from evalkit.report.snapshot import MetricFacts
from evalkit.report.verdict import CANNOT_DECIDE, PASS, REGRESSION, Check
from evalkit.report.wording import difference, number

__all__ = ["nearest", "threshold_checks"]


class _Aim(NamedTuple):
    """One mean to hold against `wanted`: over those rows of a slice, or over all."""

    metric: str
    wanted: float
    min_n: int
    slice: str = ""
    rows: NDArray[np.bool_] | None = None


def threshold_checks(ground: Ground) -> Iterator[Check]:
    """A check for each threshold over the whole run, then for each over a slice that has limits."""
    policy = ground.policy
    for metric, wanted in policy.thresholds.items():
        yield _check(ground, _Aim(metric, wanted, policy.min_n))
    for dimension, labels in policy.slices.items():
        present = sorted(ground.run.samples[dimension].dropna().unique().tolist())
        named = [label for label in labels if label != EVERY]
        for label in [*present, *(label for label in named if label not in present)]:
            aims = _aims(ground, dimension, label)
            yield from (_check(ground, aim) for aim in aims if label in named or _enough(ground, aim))


def _aims(ground: Ground, dimension: str, label: str) -> list[_Aim]:
    limits = ground.policy.limits(dimension, label)
    if limits is None:
        return []
    rows = (ground.run.samples[dimension] == label).to_numpy(dtype=np.bool_)
    where = f"{dimension}={label}"
    return [_Aim(metric, wanted, limits.min_n, where, rows) for metric, wanted in limits.thresholds.items()]


def _enough(ground: Ground, aim: _Aim) -> bool:
    """Whether a slice that nobody named has samples enough to be asked; what was lost is no excuse."""
    if aim.metric not in ground.run.metrics:
        return True
    seen = coverage(ground.run, aim.metric, ground.expected, aim.rows)
    return seen.counted + seen.lost >= aim.min_n


def _check(ground: Ground, aim: _Aim) -> Check:
    facts = ground.run.metrics.get(aim.metric)
    if facts is None:
        reason = f"the run does not measure it{nearest(aim.metric, ground.run.metrics)}"
        return _undecided(aim, reason)
    seen = coverage(ground.run, aim.metric, ground.expected, aim.rows)
    why_not = doubt(seen, min_n=aim.min_n, min_coverage=ground.policy.min_coverage)
    if why_not:
        return _undecided(aim, why_not, n=seen.counted, facts=facts)
    return _held(ground, aim, facts)


def nearest(name: str, known: Iterable[str]) -> str:
    """The hint at the name that was meant; empty where none is near."""
    near = difflib.get_close_matches(name, sorted(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _undecided(aim: _Aim, reason: str, *, n: int = 0, facts: MetricFacts | None = None) -> Check:
    return Check(
        name="threshold",
        metric=aim.metric,
        slice=aim.slice,
        wanted=aim.wanted,
        wanted_text=_bound(aim, facts),
        n=n,
        verdict=CANNOT_DECIDE,
        reason=reason,
    )


def _bound(aim: _Aim, facts: MetricFacts | None) -> str:
    side = "at most" if facts is not None and facts.lower_is_better else "at least"
    return f"{side} {number(aim.wanted, aim.metric, facts)}"


def _held(ground: Ground, aim: _Aim, facts: MetricFacts) -> Check:
    scores = ground.run.samples[aim.metric].to_numpy(np.float64)
    counted = ~np.isnan(scores) if aim.rows is None else ~np.isnan(scores) & aim.rows
    n = int(counted.sum())
    mean = math.fsum(scores[counted]) / n
    short = (mean - aim.wanted) if facts.lower_is_better else (aim.wanted - mean)
    holds = short <= SLACK
    miss = difference(short, aim.metric, facts).removeprefix("+")
    return Check(
        name="threshold",
        metric=aim.metric,
        slice=aim.slice,
        found=mean,
        wanted=aim.wanted,
        found_text=number(mean, aim.metric, facts, apart_from=None if holds else aim.wanted),
        wanted_text=_bound(aim, facts),
        n=n,
        verdict=PASS if holds else REGRESSION,
        reason=f"{_bound(aim, facts)} holds" if holds else f"{miss} off {_bound(aim, facts)}",
    )
