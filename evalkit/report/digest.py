"""All that a report says of a run, worked out once: tables, failures, and what to look at first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.contracts import Manifest, MetricResult
from evalkit.metrics.intent import Confusion, LabelReport, near_misses, per_label, unknown_parents
from evalkit.metrics.intent import confusions as error_directions
from evalkit.metrics.latency import quantiles
from evalkit.reading import Intake
from evalkit.records import Records
from evalkit.report import tables
from evalkit.report.channels import Channel, channels
from evalkit.report.charge_columns import charge_columns, clues, recall_of
from evalkit.report.charges import Charges
from evalkit.report.charging import charge
from evalkit.report.clusters import clusters
from evalkit.report.failures import FailureCounts, Failures, failures
from evalkit.report.fields import refuse_unknown
from evalkit.report.figures import Figure, figures, macro
from evalkit.report.lots import numbered
from evalkit.report.sheet import Sheet
from evalkit.report.suggestions import Suggestion, suggestions
from evalkit.report.worst import WorstRow, worst

__all__ = ["Digest", "Run", "digest"]

HEADLINE = (
    "intent_top1",
    "intent_l1_top1",
    "hit@5",
    "recall@5",
    "mrr@10",
    "ndcg@10",
    "completion",
    "tool_f1",
    "success_rate",
    "pass_rate",
    "rule_pass_rate",
    "answer_error_rate",
    "evidence_error_rate",
)
"""The metrics named first wherever there is room for few; those that nothing was counted for are left out."""

MAIN = "intent_top1"


@dataclass(frozen=True, slots=True)
class Run:
    """What is reported on: the records, what was measured of them, and the manifest where there is one.

    `overridden` counts the scores that people set in place of the measured ones, by metric; `intake` has what
    became of the lines of its file, null where it is of no file; `spent` the CPU seconds of each metric that is none of
    this package, which no file tells, since they are others each time.
    """

    run_id: str
    records: Records
    results: Sequence[MetricResult]
    manifest: Manifest | None = None
    overridden: Mapping[str, int] = field(default_factory=dict)
    intake: Intake | None = None
    spent: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Digest:
    """A run and all that was worked out of it."""

    run: Run
    tables: tables.Tables
    failures: Failures
    by: tuple[str, ...] = ()
    cluster: str | None = None

    @cached_property
    def clusters(self) -> NDArray[np.int64]:
        """Which samples (n,) intervals draw together: those of a case, or of all cases that share `cluster`."""
        return clusters(self.run.records, self.cluster)

    @cached_property
    def labels(self) -> Sequence[LabelReport]:
        """How each label fares."""
        return per_label(self.run.records)

    @cached_property
    def charged(self) -> FailureCounts:
        """How many samples failed, and at what."""
        return self.failures.counts

    @cached_property
    def near_misses(self) -> list[Confusion]:
        """The error directions between labels that look the same."""
        return near_misses(error_directions(self.run.records))

    @cached_property
    def unknown_parents(self) -> Mapping[str, int]:
        """How often each label was predicted whose first level is unknown, most often first."""
        return unknown_parents(self.run.records, parents=self._parents)

    @property
    def _parents(self) -> Mapping[str, str] | None:
        manifest = self.run.manifest
        return manifest.intent_parents or None if manifest else None

    @cached_property
    def charges(self) -> Charges:
        """What the failed samples are charged to."""
        records, results, table = self.run.records, self.run.results, self.tables.samples
        for name, column in charge_columns(records, results, self.failures).items():
            table = table.append_column(name, column)
        sheet = Sheet(table, recall_of(result.name for result in results))
        facts = clues(records, results, self.failures).facts
        return charge(sheet, facts, numbered(self.clusters))

    @cached_property
    def suggestions(self) -> tuple[Suggestion, ...]:
        """What to fix, with most to win first."""
        return tuple(suggestions(self.charges))

    @cached_property
    def overall(self) -> list[Figure]:
        """Every metric over the whole run, in the order in which they were measured."""
        return figures(self.tables.slices, dimension=tables.OVERALL)

    @cached_property
    def headline(self) -> list[Figure]:
        """The few metrics to name first; all that counted anything where none of those was measured."""
        found = {figure.metric: figure for figure in self.overall if figure.n_counted}
        chosen = [found[name] for name in HEADLINE if name in found]
        return chosen or list(found.values())

    @cached_property
    def main(self) -> str | None:
        """The metric that slices are ranked by; null where nothing was measured."""
        names = [figure.metric for figure in self.headline]
        return MAIN if MAIN in names else next(iter(names), None)

    @cached_property
    def averages(self) -> tuple[Figure, tuple[float, int]] | None:
        """The main metric's micro mean, in which each sample weighs the same, and its macro mean over the
        second-level intents, in which each label does, with the number of labels; null without labels.
        """
        if self.main is None:
            return None
        (micro,) = figures(self.tables.slices, dimension=tables.OVERALL, metric=self.main)
        labels = macro(figures(self.tables.slices, dimension="intent_l2", metric=self.main))
        return (micro, labels) if labels else None

    @cached_property
    def worst_intents(self) -> list[WorstRow]:
        """The intents that lose something of the main metric, worst first."""
        if self.main is None:
            return []
        rows = worst(self.tables.slices, self.tables.confusions, by="intent_l2", metric=self.main)
        best = 0.0 if rows and rows[0].figure.lower_is_better else 1.0
        return [row for row in rows if row.figure.mean is not None and row.figure.mean != best]

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The answer channel and the evidence channel."""
        return tuple(each.ranked() for each in channels(self.tables.samples))

    def pieces(self, name: str) -> Iterable[pa.Table]:
        """The table of that name, as it is to be written: in pieces where it is not held."""
        return [getattr(self.tables, name)]


def digest(run: Run, *, by: Sequence[str] = (), cluster: str | None = None) -> Digest:
    """Work out the tables and failures of a run; `by` names further fields to slice by.

    Intervals draw the samples of a case together, or all cases that share the field `cluster`. UnknownName
    for a field that no record has.
    """
    refuse_unknown(run.records, [cluster] if cluster else [])
    found = tables.Tables(
        tables.samples(run.records, run.results, run_id=run.run_id, by=by),
        tables.slices(
            run.records,
            run.results,
            run_id=run.run_id,
            eval_set_sha256=run.manifest.eval_set_sha256 if run.manifest else None,
            by=by,
            clusters=clusters(run.records, cluster),
        ),
        tables.confusions(error_directions(run.records), run_id=run.run_id),
        tables.latency(quantiles(run.records), run_id=run.run_id),
    )
    return Digest(run, found, failures(run.records, run.results), tuple(by), cluster)
