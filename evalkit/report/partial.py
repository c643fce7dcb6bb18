"""What is kept of a part of a run once its samples are on file: sums and counts, which add up to those of the run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from evalkit.contracts import MetricResult
from evalkit.engines.parted import Measured, Place
from evalkit.metrics.intent import Confusion, LabelReport, added, confusions, in_order, per_label
from evalkit.report.failures import FailureCounts, failures
from evalkit.report.fields import fields_of, parts_of
from evalkit.report.intervals import is_proper
from evalkit.report.slice_table import OVERALL
from evalkit.slices import Scores, Tally, scores_of, tally

__all__ = ["Partial", "partial", "together"]

Sums: TypeAlias = dict[tuple[str, str], Tally]
_NOBODY = ""
"""What the sums of a score that counts nothing stand under."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A part of a run, or several: sums by metric and dimension, and whatever else the tables count.

    `results` have what is said of each metric, and no scores; `proper` those whose scores are all within 0–1;
    `wrong` the samples of each error direction; `unknown` the fields to slice by that no record has, of `known`; `places` what metrics are sorted by;
    `spare` those that a run leaves out where they are spare in all of it.
    """

    n: int
    results: Mapping[str, MetricResult]
    sums: Sums
    proper: frozenset[str]
    labels: Sequence[LabelReport]
    wrong: Mapping[tuple[str, str | None], Sequence[str]]
    failures: FailureCounts
    unknown: frozenset[str]
    known: frozenset[str]
    places: Mapping[str, Place]
    spare: frozenset[str]

    @property
    def confusions(self) -> list[Confusion]:
        """The error directions, the most frequent first."""
        support = {label.label: label.support for label in self.labels}
        errors: Counter[str] = Counter()
        for (gold, _), keys in self.wrong.items():
            errors[gold] += len(keys)
        return in_order(
            Confusion(gold, other, len(keys), support[gold], len(keys) / errors[gold], tuple(sorted(keys)))
            for (gold, other), keys in self.wrong.items()
        )

    @property
    def told(self) -> dict[str, MetricResult]:
        """The results that the run tells, in order."""
        return {name: result for name, result in self.results.items() if name not in self.spare}

    def tally(self, metric: str, dimension: str) -> Tally:
        """The sums of a metric; those of nothing where the part does not have it."""
        return self.sums.get((metric, dimension)) or self.sums[_NOBODY, dimension]


def partial(measured: Measured, dimensions: Sequence[str]) -> Partial:
    """What is kept of these records and their results."""
    records, results, places, spare = measured
    named = [name for name in dimensions if name != OVERALL]
    columns = {result.name: scores_of(records, result) for result in results}
    nothing = np.zeros(len(records))
    columns[_NOBODY] = Scores(nothing, nothing.astype(np.bool_))
    failed = failures(records, results)
    known = fields_of(records, named)
    return Partial(
        len(records),
        {result.name: _without_scores(result) for result in results},
        {
            (name, dimension): tally(
                records, column, by=None if dimension == OVERALL else dimension, squared=True
            )
            for name, column in columns.items()
            for dimension in dimensions
        },
        frozenset(name for name, column in columns.items() if is_proper(column)),
        per_label(records),
        {(pair.gold, pair.predicted): pair.keys for pair in confusions(records)},
        failed.counts._replace(by_kind=failed.kinds),
        frozenset({*parts_of(named)} - known),
        frozenset(known),
        places,
        spare,
    )


def _without_scores(result: MetricResult) -> MetricResult:
    return replace(result, overall=None, by_intent_l1={}, by_intent_l2={}, per_sample={})


def together(parts: Sequence[Partial]) -> Partial:
    """All parts of a run as one, in their order."""
    first, *others = parts
    results = _results(parts)
    sums = {(name, dim): first.tally(name, dim) for name in (*results, _NOBODY) for _, dim in _dims(first)}
    wrong: defaultdict[tuple[str, str | None], list[str]] = defaultdict(list)
    for part in others:
        sums = {(name, dim): known.plus(part.tally(name, dim)) for (name, dim), known in sums.items()}
    for part in parts:
        for pair, keys in part.wrong.items():
            wrong[pair].extend(keys)
    return Partial(
        sum(part.n for part in parts),
        results,
        sums,
        frozenset(
            name for name in results if all(name in part.proper or name not in part.results for part in parts)
        ),
        added(label for part in parts for label in part.labels),
        wrong,
        FailureCounts.together([part.failures for part in parts]),
        frozenset.intersection(*(part.unknown for part in parts)),
        frozenset.union(*(part.known for part in parts)),
        {name: part.places[name] for part in reversed(parts) for name in part.results},
        frozenset.intersection(*(part.spare for part in parts)),
    )


def _dims(part: Partial) -> list[tuple[str, str]]:
    return [key for key in part.sums if key[0] == _NOBODY]


def _results(parts: Sequence[Partial]) -> dict[str, MetricResult]:
    """What is said of each metric, in the order in which a run tells them."""
    found: dict[str, MetricResult] = {}
    for part in parts:
        for name, result in part.results.items():
            known = found.get(name, result)
            judges = sorted({*_judges(known), *_judges(result)})
            found[name] = replace(result, is_rate=known.is_rate and result.is_rate, judge=", ".join(judges))
    places = {name: part.places[name] for part in reversed(parts) for name in part.results}
    return {name: found[name] for name in sorted(found, key=places.__getitem__)}


def _judges(result: MetricResult) -> list[str]:
    return [name for name in result.judge.split(", ") if name]
