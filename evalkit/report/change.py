"""How one metric moved over one slice: what was seen, how sure that is, and what could have been seen.

The unit is the case: repeats of a case are averaged before anything is tested, so that asking a question
ten times does not make ten questions of it.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.planning import cases_for_difference, detectable_difference, smallest_p
from evalkit.report.paired import mean_move, p_value, together
from evalkit.report.pairs import Pairs
from evalkit.report.snapshot import MetricFacts
from evalkit.report.units import Codes, Units
from evalkit.stats import DRAWS, FLIP_DRAWS

__all__ = ["Change", "Direction", "Effort", "changes"]

Direction = Literal["better", "worse", "same", "undecided"]
Floats = NDArray[np.float64]

OVERALL = "overall"
SLACK = 1e-12
FEWEST = 6
"""So many cases must move before a two-sided test at 5 % can decide: 2 ** (1 - 6) is under 0.05."""

_FLIPS_TO_SUSPECT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One metric over one slice (`slice` is empty overall) in two runs; means are over `n_common` pairs.

    `bounded`: every score of the metric lies in 0–1. `n_common` samples count in both runs, `n_cases` cases have them, `lost` samples count in the base alone.
    `ci_low` and `ci_high` bound run minus base (95 %, paired bootstrap over cases; never of zero width; null
    where the data set no bounds). `worse` and `better` are the cases that moved so, `fallible` those that
    could get worse, `evidence` is a hash of which cases moved and how, `spread` the share that moved (for what is no rate: the variance of the moves). `movers` are
    the clusters that moved, null where each case is its own. `p` is
    two-sided: exact McNemar for rates, sign flips for the rest and for clusters; `q` is Benjamini–Hochberg (times among
    themselves), `p_holm` Holm, over those that could be decided at all; both null for the others. `suspect`: most of the
    cases that could fall did, but they are too few to decide. The verdict comes with its reason in words.
    """

    metric: str
    dimension: str
    slice: str
    facts: MetricFacts
    bounded: bool
    n_common: int
    n_cases: int
    lost: int
    base_mean: float | None
    run_mean: float | None
    ci_low: float | None
    ci_high: float | None
    worse: int
    better: int
    fallible: int
    spread: float
    evidence: str
    p: float | None
    movers: int | None = None
    q: float | None = None
    p_holm: float | None = None
    suspect: bool = False
    verdict: Direction = "undecided"
    reason: str = ""

    @property
    def is_time(self) -> bool:
        """Whether the metric is a time, in milliseconds: one that moves without any cause."""
        return self.metric.endswith("_ms")

    @property
    def gone(self) -> bool:
        """Whether the run lost all that the base counted here, so that nothing can be compared."""
        return self.n_common == 0 and self.lost > 0

    @property
    def delta(self) -> float | None:
        """Run minus base; null where nothing is common."""
        if self.base_mean is None or self.run_mean is None:
            return None
        return self.run_mean - self.base_mean

    @property
    def detectable(self) -> float | None:
        """The smallest difference that so many cases show 4 times in 5; null where none can be.

        For rates never less than what the fewest flips that can decide add up to.
        """
        known = detectable_difference(self.n_cases, discordant=self.spread) or 0.0
        if self.facts.is_rate:
            known = max(known, FEWEST / max(self.n_cases, 1))
        return known if known and not (self.bounded and known > 1) else None

    @property
    def cases_needed(self) -> int | None:
        """How many cases show the difference seen 4 times in 5; null where there is none."""
        return cases_for_difference(self.delta, discordant=self.spread) if self.delta else None

    @property
    def drop(self) -> float:
        """How far the metric fell, in its own unit; negative where it rose, 0 where nothing is known."""
        delta = self.delta or 0.0
        return delta if self.facts.lower_is_better else -delta

    @property
    def reachable_p(self) -> float:
        """The smallest p that so many moved cases could ever have reached."""
        return smallest_p(self.worse + self.better if self.movers is None else self.movers)

    @property
    def mostly_fell(self) -> bool:
        """Whether more than half of the cases that could fall did, others that rose taken off."""
        net = self.worse - self.better
        return net >= _FLIPS_TO_SUSPECT and 2 * net > self.fallible


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much is drawn: `draws` resamples for an interval, `flips` sign patterns for a test."""

    draws: int = DRAWS
    flips: int = FLIP_DRAWS


class _Cases(NamedTuple):
    """Scores by case: means of the repeats that count in both runs, (cases,), and samples behind them.

    `place` numbers the cases of the whole comparison, whichever of them are here; `cluster` says which go
    together (null: each is its own).
    """

    base: Floats
    run: Floats
    samples: NDArray[np.int64]
    lost: NDArray[np.int64]
    place: NDArray[np.int64]
    cluster: Codes | None

    def of(self, rows: Codes | NDArray[np.bool_]) -> _Cases:
        """Some of the cases."""
        together = None if self.cluster is None else self.cluster[rows]
        columns = self.base[rows], self.run[rows], self.samples[rows], self.lost[rows], self.place[rows]
        return _Cases(*columns, together)


class _Metric(NamedTuple):
    """A metric, and whether all its scores lie between 0 and 1."""

    name: str
    facts: MetricFacts
    bounded: bool


def changes(
    pairs: Pairs, counted: Units, metric: str, facts: MetricFacts, *, effort: Effort
) -> Iterator[Change]:
    """The metric overall and over each slice of the units in which the base counts something."""
    cases = _by_case(pairs, metric, counted)
    of = _Metric(metric, facts, _bounded(pairs, metric))
    yield _change(cases, of, place=(OVERALL, ""), effort=effort)
    for part in counted.slices:
        some = cases.of(part.cases)
        if some.samples.any() or some.lost.any():
            yield _change(some, of, place=(part.dimension, part.label), effort=effort)


def _by_case(pairs: Pairs, metric: str, counted: Units) -> _Cases:
    before, after = (frame[metric].to_numpy(np.float64) for frame in (pairs.base, pairs.run))
    codes = counted.case
    size = int(codes.max(initial=-1)) + 1
    both = ~np.isnan(before) & ~np.isnan(after)
    n = np.bincount(codes[both], minlength=size)
    lost = np.bincount(codes[~np.isnan(before) & np.isnan(after)], minlength=size)
    base_sum, run_sum = (
        np.bincount(codes[both], weights=column[both], minlength=size) for column in (before, after)
    )
    whole = np.maximum(n, 1)
    return _Cases(base_sum / whole, run_sum / whole, n, lost, np.arange(size), counted.cluster)


def _bounded(pairs: Pairs, metric: str) -> bool:
    scores = np.concatenate([pairs.base[metric].to_numpy(), pairs.run[metric].to_numpy()])
    counted = scores[~np.isnan(scores)]
    return bool(np.all((counted >= 0) & (counted <= 1)))


def _change(cases: _Cases, metric: _Metric, *, place: tuple[str, str], effort: Effort) -> Change:
    """What was seen in these cases, before it is judged among its family."""
    here, facts = cases.of(cases.samples > 0), metric.facts
    moved = here.run - here.base
    moved[np.abs(moved) <= SLACK] = 0.0
    gain = -moved if facts.lower_is_better else moved
    low, high = mean_move(moved, bounded=metric.bounded, draws=effort.draws, clusters=here.cluster)
    summed = together(moved, here.cluster)
    return Change(
        metric=metric.name,
        dimension=place[0],
        slice=place[1],
        facts=facts,
        bounded=metric.bounded,
        n_common=int(cases.samples.sum()),
        n_cases=len(moved),
        lost=int(cases.lost.sum()),
        base_mean=_mean(here.base),
        run_mean=_mean(here.run),
        ci_low=low,
        ci_high=high,
        worse=int(np.count_nonzero(gain < 0)),
        better=int(np.count_nonzero(gain > 0)),
        movers=None if here.cluster is None else int(np.count_nonzero(summed)),
        p=p_value(summed, is_rate=facts.is_rate, flips=effort.flips) if len(moved) else None,
        spread=_spread(moved, facts),
        fallible=_fallible(here.base, facts),
        evidence=_evidence(here.place, gain),
    )


def _evidence(place: NDArray[np.int64], gain: Floats) -> str:
    moved = gain != 0
    return hashlib.blake2b(place[moved].tobytes() + gain[moved].tobytes(), digest_size=16).hexdigest()


def _mean(values: Floats) -> float | None:
    return math.fsum(values) / len(values) if len(values) else None


def _spread(moved: Floats, facts: MetricFacts) -> float:
    """The share of cases that moved for rates, the variance of their moves for the rest."""
    if not len(moved):
        return 0.0
    return float(np.mean(moved != 0) if facts.is_rate else np.var(np.sort(moved)))


def _fallible(before: Floats, facts: MetricFacts) -> int:
    """The cases that could get worse: for rates those that the base had right, else all."""
    if not facts.is_rate:
        return len(before)
    return int(np.count_nonzero(before < 1 if facts.lower_is_better else before > 0))
