"""How a target fared over its runs: a line for each metric and slice, and where the line broke.

Only runs of one target on one eval set make a line. Each run is held against the one before it, case by case,
and the last against the first, so that slow drift shows too: exact McNemar for 0/1 scores, sign flips for
the rest, Holm over all tests of a metric that could be decided at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

import numpy as np
import pandas as pd

from evalkit.errors import UnknownName
from evalkit.planning import smallest_p
from evalkit.report.paired import p_value
from evalkit.report.snapshot import MetricFacts
from evalkit.stats import FLIP_DRAWS, holm

__all__ = ["Moment", "Point", "Series", "Step", "Track", "tracks"]

ALPHA = 0.05
OVERALL = "overall"
DIMENSIONS = ("intent_l1", "intent_l2", "difficulty", "trap_type")
"""The columns of a samples table with one label a sample."""

SLACK = 1e-12


@dataclass(frozen=True, eq=False)
class Moment:
    """One run as history sees it: when it was begun, and its samples table with the metrics' columns."""

    run_id: str
    started_at: datetime
    complete: bool
    target: str
    eval_set: str
    eval_set_sha256: str
    metrics: Mapping[str, MetricFacts]
    samples: pd.DataFrame


@dataclass(frozen=True, slots=True)
class Point:
    """The mean of one run over a slice: null where it counted nothing."""

    run_id: str
    mean: float | None
    n_counted: int
    n_total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What moved from one run to another: `worse` and `better` of the `n_cases` that count in both.

    `delta` is the mean move, later minus earlier; null where nothing is common, as is `p`. `p_holm` is null
    where so few cases moved that no test could decide.
    """

    earlier: str
    later: str
    n_cases: int
    delta: float | None
    worse: int
    better: int
    p: float | None
    p_holm: float | None = None

    @property
    def proven(self) -> bool:
        """Whether chance alone is unlikely to have done it (Holm, 5 % over the metric's tests)."""
        return self.p_holm is not None and self.p_holm <= ALPHA


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A metric over a slice (empty: overall) in run after run, the step into each run but the first, and `drift`.

    `drift` goes from the first run to the last; null where there are not at least three.
    """

    metric: str
    facts: MetricFacts
    dimension: str
    slice: str
    points: tuple[Point, ...]
    steps: tuple[Step, ...]
    drift: Step | None

    @property
    def breaks(self) -> tuple[Step, ...]:
        """The steps that are proven."""
        return tuple(step for step in self.steps if step.proven)


@dataclass(frozen=True, slots=True)
class Track:
    """The runs of one target on one eval set, oldest first, and their series by metric and slice."""

    target: str
    eval_set: str
    eval_set_sha256: str
    runs: tuple[tuple[str, datetime, bool], ...]
    series: tuple[Series, ...]


def tracks(moments: Sequence[Moment], *, metrics: Sequence[str], by: Sequence[str] = ()) -> list[Track]:
    """The tracks of these runs, the one with the newest run first; a metric makes series where runs have it.

    Runs whose version of a metric differs from the newest run's are left out of its series. UnknownName for a
    metric that no run has, or a dimension that is none.
    """
    _require("metric", metrics, {name for moment in moments for name in moment.metrics})
    _require("dimension", by, DIMENSIONS)
    groups: dict[tuple[str, str], list[Moment]] = {}
    for moment in sorted(moments, key=lambda moment: (moment.started_at, moment.run_id)):
        groups.setdefault((moment.target, moment.eval_set_sha256), []).append(moment)
    newest_first = sorted(groups.values(), key=lambda group: group[-1].started_at, reverse=True)
    return [_track(group, metrics, by) for group in newest_first]


def _require(kind: str, wanted: Sequence[str], known: Collection[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UnknownName(kind, name, known)


def _track(group: Sequence[Moment], metrics: Sequence[str], by: Sequence[str]) -> Track:
    last = group[-1]
    series = [each for metric in metrics for each in _of_metric(group, metric, by)]
    runs = tuple((moment.run_id, moment.started_at, moment.complete) for moment in group)
    return Track(last.target, last.eval_set, last.eval_set_sha256, runs, tuple(series))


def _of_metric(group: Sequence[Moment], metric: str, by: Sequence[str]) -> list[Series]:
    facts = group[-1].metrics.get(metric)
    if facts is None:
        return []
    alike = [moment for moment in group if moment.metrics.get(metric) == facts]
    found = [_series(alike, metric, facts, OVERALL, "")]
    for dimension in by:
        labels = {label for moment in alike for label in moment.samples[dimension].dropna().unique()}
        found += [_series(alike, metric, facts, dimension, label) for label in sorted(labels)]
    return _corrected([each for each in found if any(point.n_counted for point in each.points)])


def _series(group: Sequence[Moment], metric: str, facts: MetricFacts, dimension: str, label: str) -> Series:
    frames = [_slice(moment.samples, dimension, label)[["sample_id", metric]] for moment in group]
    runs = [moment.run_id for moment in group]
    cases = [frame.dropna().groupby("sample_id")[metric].mean() for frame in frames]
    pairs = list(pairwise(range(len(runs))))
    steps = [_step((runs[i], runs[j]), (cases[i], cases[j]), facts) for i, j in pairs]
    drift = _step((runs[0], runs[-1]), (cases[0], cases[-1]), facts) if len(runs) > 2 else None  # noqa: PLR2004
    points = tuple(_point(run, frame[metric]) for run, frame in zip(runs, frames, strict=True))
    return Series(
        metric=metric,
        facts=facts,
        dimension=dimension,
        slice=label,
        points=points,
        steps=tuple(steps),
        drift=drift,
    )


def _slice(samples: pd.DataFrame, dimension: str, label: str) -> pd.DataFrame:
    return samples if dimension == OVERALL else samples[samples[dimension] == label]


def _point(run_id: str, scores: pd.Series[float]) -> Point:
    n = int(scores.notna().sum())
    return Point(run_id, float(scores.mean()) if n else None, n, len(scores))


def _step(
    runs: tuple[str, str], cases: tuple[pd.Series[float], pd.Series[float]], facts: MetricFacts
) -> Step:
    """What moved between two runs, over the cases that count in both."""
    before, after = cases[0].align(cases[1], join="inner")
    moved = (after - before).to_numpy(np.float64, copy=True)
    moved[np.abs(moved) <= SLACK] = 0.0
    gain = -moved if facts.lower_is_better else moved
    return Step(
        earlier=runs[0],
        later=runs[1],
        n_cases=len(moved),
        delta=float(moved.mean()) if len(moved) else None,
        worse=int(np.count_nonzero(gain < 0)),
        better=int(np.count_nonzero(gain > 0)),
        p=p_value(moved, is_rate=facts.is_rate, flips=FLIP_DRAWS) if len(moved) else None,
    )


def _corrected(series: Sequence[Series]) -> list[Series]:
    """The series of one metric with Holm over all their steps that so many moved cases could decide."""
    p = [step.p for step in _tests(series) if _decidable(step)]
    adjusted = iter(holm([value for value in p if value is not None]).tolist())

    def held(step: Step) -> Step:
        return replace(step, p_holm=next(adjusted)) if _decidable(step) else step

    return [
        replace(
            each,
            steps=tuple(held(step) for step in each.steps),
            drift=held(each.drift) if each.drift else None,
        )
        for each in series
    ]


def _tests(series: Sequence[Series]) -> Iterator[Step]:
    for each in series:
        yield from each.steps
        if each.drift:
            yield each.drift


def _decidable(step: Step) -> bool:
    return step.p is not None and smallest_p(step.worse + step.better) <= ALPHA
