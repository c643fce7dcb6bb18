"""What is kept of a part of a run once its samples are on file: sums and counts, which add up to those of the run."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from evalkit.contracts import MetricResult
from evalkit.engines.parted import Measured, Place
from evalkit.metrics.intent import Confusion, LabelReport, Pair, added, directions, errors, per_label
from evalkit.report.channels import Channel, channels
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
    `confused` how often each error direction befell; `unknown` the fields to slice by that no record has, of `known`; `places` what metrics are sorted by;
    `spare` those that a run leaves out where they are spare in all of it.
    """

    n: int
    results: Mapping[str, MetricResult]
    sums: Sums
    proper: frozenset[str]
    labels: Sequence[LabelReport]
    confused: Mapping[Pair, int]
    failures: FailureCounts
    channels: tuple[Channel, ...]
    unknown: frozenset[str]
    known: frozenset[str]
    places: Mapping[str, Place]
    spare: frozenset[str]

    @property
    def directions(self) -> list[Confusion]:
        """The error directions, the most frequent first, without their samples."""
        return directions(self.confused, {label.label: label.support for label in self.labels}, {})

    @property
    def told(self) -> dict[str, MetricResult]:
        """The results that the run tells, in order."""
        return {name: result for name, result in self.results.items() if name not in self.spare}

    def tally(self, metric: str, dimension: str) -> Tally:
        """The sums of a metric; those of nothing where the part does not have it."""
        return self.sums.get((metric, dimension)) or self.sums[_NOBODY, dimension]


def partial(measured: Measured, samples: pa.Table, dimensions: Sequence[str]) -> Partial:
    """What is kept of these records, their results, and their table of samples."""
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
        Counter(pair for _, pair in errors(records)),
        failed.counts._replace(by_kind=failed.kinds),
        channels(samples),
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
    confused = Counter[Pair]()
    for part in others:
        sums = {(name, dim): known.plus(part.tally(name, dim)) for (name, dim), known in sums.items()}
    for part in parts:
        confused.update(part.confused)
    return Partial(
        sum(part.n for part in parts),
        results,
        sums,
        frozenset(
            name for name in results if all(name in part.proper or name not in part.results for part in parts)
        ),
        added(label for part in parts for label in part.labels),
        confused,
        FailureCounts.together([part.failures for part in parts]),
        tuple(
            functools.reduce(Channel.plus, each)
            for each in zip(*(part.channels for part in parts), strict=True)
        ),
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
