"""What is kept of a part of a run once its samples are on file: sums and counts, which add up to those of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from evalkit.contracts import MetricResult
from evalkit.engines.parted import Measured, Place
from evalkit.metrics.intent import (
    Confusion,
    LabelReport,
    Pair,
    added,
    directions,
    errors,
    per_label,
    unknown_parents,
)
from evalkit.records import Records
from evalkit.report.causes import Clues
from evalkit.report.channels import Channel, channels
from evalkit.report.charge_columns import clues
from evalkit.report.failures import FailureCounts, Failures
from evalkit.report.fields import fields_of, parts_of
from evalkit.report.intervals import is_proper
from evalkit.report.slice_table import OVERALL
from evalkit.slices import Scores, Tally, scores_of, tally

__all__ = ["Partial", "Seen", "partial"]

Sums: TypeAlias = dict[tuple[str, str], Tally]
_NOBODY = ""
"""What the sums of a score that counts nothing stand under."""


@dataclass(frozen=True, slots=True)
class Partial:
    """A part of a run, or several: sums by metric and dimension, and whatever else the tables count.

    `results` have what is said of each metric, and no scores; `proper` those whose scores are all within 0–1;
    `confused` how often each error direction befell; `unknown` the fields to slice by that no record has, of `known`; `places` those that were measured, in order, with what they are sorted by;
    `spare` those that a run leaves out where they are spare in all of it; `overridden` counts the scores set by hand,
    `unknown_parents` the labels predicted whose first level is unknown; `files` has the names of the samples' files,
    `spent` the CPU seconds of each metric that is none of this package.
    """

    n: int
    results: Mapping[str, MetricResult]
    sums: Sums
    proper: frozenset[str]
    labels: Sequence[LabelReport]
    confused: Counter[Pair]
    failures: FailureCounts
    channels: tuple[Channel, ...]
    unknown: frozenset[str]
    known: frozenset[str]
    places: Mapping[str, Place]
    spare: frozenset[str]
    overridden: Counter[str]
    unknown_parents: Counter[str]
    clues: Clues
    files: Mapping[int, str]
    spent: Counter[str]

    @property
    def directions(self) -> list[Confusion]:
        """The error directions, the most frequent first, without their samples."""
        return directions(self.confused, {label.label: label.support for label in self.labels}, {})

    @property
    def told(self) -> dict[str, MetricResult]:
        """The results that the run tells, in order."""
        return {name: self.results[name] for name in self.places if name not in self.spare}

    def plus(self, later: Partial) -> Partial:
        """The part, or several, with one that comes after."""
        results = _results([self, later])
        keys = [(name, dimension) for name in (*results, _NOBODY) for dimension in self._dimensions]
        return Partial(
            self.n + later.n,
            results,
            {key: self.tally(*key).plus(later.tally(*key)) for key in keys},
            frozenset(name for name in results if self._is_proper(name) and later._is_proper(name)),
            added([*self.labels, *later.labels]),
            self.confused + later.confused,
            FailureCounts.together([self.failures, later.failures]),
            tuple(map(Channel.plus, self.channels, later.channels)),
            self.unknown & later.unknown,
            self.known | later.known,
            _places([self, later]),
            self.spare & later.spare,
            self.overridden + later.overridden,
            self.unknown_parents + later.unknown_parents,
            self.clues.plus(later.clues),
            {**self.files, **later.files},
            self.spent + later.spent,
        )

    @property
    def _dimensions(self) -> list[str]:
        return [dimension for name, dimension in self.sums if name == _NOBODY]

    def _is_proper(self, metric: str) -> bool:
        return metric in self.proper or metric not in self.results

    def tally(self, metric: str, dimension: str) -> Tally:
        """The sums of a metric; those of nothing where the part does not have it."""
        return self.sums.get((metric, dimension)) or self.sums[_NOBODY, dimension]


class Seen(NamedTuple):
    """What was seen of a part: its records as they were measured, their table of samples, and who failed."""

    measured: Measured
    samples: pa.Table
    failed: Failures


def partial(
    seen: Seen, dimensions: Sequence[str], *, cluster: str | None, parents: Mapping[str, str]
) -> Partial:
    """What is kept of a part that is sliced by these dimensions; `parents` has the label above each."""
    records, results, places, spare, by_hand, spent = seen.measured
    named = [name for name in (*dimensions, cluster) if name not in (OVERALL, None)]
    columns = {result.name: scores_of(records, result) for result in results}
    nothing = np.zeros(len(records))
    columns[_NOBODY] = Scores(nothing, nothing.astype(np.bool_))
    known = fields_of(records, named)
    return Partial(
        len(records),
        {result.name: _without_scores(result) for result in results},
        _sums(records, columns, dimensions),
        frozenset(name for name, column in columns.items() if is_proper(column)),
        per_label(records),
        Counter(pair for _, pair in errors(records)),
        seen.failed.counts._replace(by_kind=seen.failed.kinds),
        channels(seen.samples),
        frozenset({*parts_of(named)} - known),
        frozenset(known),
        places,
        spare,
        Counter(by_hand),
        Counter(unknown_parents(records, parents=parents)),
        clues(records, results, seen.failed),
        files={},
        spent=Counter(spent),
    )


def _sums(records: Records, columns: Mapping[str, Scores], dimensions: Sequence[str]) -> Sums:
    return {
        (name, dimension): tally(
            records, column, by=None if dimension == OVERALL else dimension, squared=True
        )
        for name, column in columns.items()
        for dimension in dimensions
    }


def _without_scores(result: MetricResult) -> MetricResult:
    return replace(result, overall=None, by_intent_l1={}, by_intent_l2={}, per_sample={})


def _results(parts: Sequence[Partial]) -> dict[str, MetricResult]:
    """What is said of each metric; by parts that measured it where there are any."""
    found: dict[str, MetricResult] = {}
    for part in parts:
        for name, result in part.results.items():
            known = found.get(name, result)
            judges = sorted({*_judges(known), *_judges(result)})
            told = result if name in part.places else known
            found[name] = replace(told, is_rate=known.is_rate and result.is_rate, judge=", ".join(judges))
    return found


def _places(parts: Sequence[Partial]) -> dict[str, Place]:
    """Where the metrics stand that any part measured, in order."""
    found = {name: place for part in reversed(parts) for name, place in part.places.items()}
    return dict(sorted(found.items(), key=lambda item: item[1]))


def _judges(result: MetricResult) -> list[str]:
    return [name for name in result.judge.split(", ") if name]
