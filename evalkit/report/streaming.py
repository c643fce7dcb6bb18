"""A run scored part by part: the tables of `build.score_run`, from sums that add up and samples that are on file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalkit.engines import pool
from evalkit.engines.overrides import Manual, refuse_unknown
from evalkit.engines.parted import Part, measuring
from evalkit.engines.shared import shared_folder
from evalkit.errors import UnknownName
from evalkit.metrics.intent import Confusion, LabelReport, near_misses
from evalkit.metrics.latency import LATENCIES, Observed, distributions
from evalkit.reading import Intake, stem
from evalkit.records import Records
from evalkit.report import tables
from evalkit.report.channels import Channel
from evalkit.report.charge_columns import recall_of
from evalkit.report.charges import Charges
from evalkit.report.clusters import joined
from evalkit.report.digest import Digest, Run
from evalkit.report.failures import FailureCounts, Failures
from evalkit.report.partial import Partial
from evalkit.report.partwork import Charging, Reduced, Scoring, Whole, lots
from evalkit.report.redrawn import slice_parts
from evalkit.report.sample_table import KEYED, keys_of
from evalkit.report.schemas import SAMPLES, samples_schema
from evalkit.report.scratch import Scratch
from evalkit.report.slice_table import dimensions, slice_rows
from evalkit.report.wrong import confusion_pieces

__all__ = ["ROWS", "Streamed", "streamed"]

ROWS = 4_096
"""Records of a part."""


@dataclass(frozen=True, kw_only=True)
class Streamed(Digest):
    """A run that was measured part by part: all numbers of a digest; records, samples and failures stay on file.

    Of its `tables` that of the samples is empty, and that of the confusions names none; `pieces` are whole.
    """

    merged: Partial
    scratch: Scratch
    added: Charges

    @cached_property
    def charges(self) -> Charges:
        """What the failed samples are charged to."""
        return self.added

    @cached_property
    def labels(self) -> Sequence[LabelReport]:
        """How each label fares."""
        return self.merged.labels

    @cached_property
    def near_misses(self) -> list[Confusion]:
        """The error directions between labels that look the same."""
        return near_misses(self.merged.directions)

    @cached_property
    def unknown_parents(self) -> Mapping[str, int]:
        """How often each label was predicted whose first level is unknown, most often first."""
        return dict(sorted(self.merged.unknown_parents.items(), key=lambda item: (-item[1], item[0])))

    @cached_property
    def charged(self) -> FailureCounts:
        """How many samples failed, and at what."""
        kinds = Counter(self.merged.failures.by_kind).most_common()
        return self.merged.failures._replace(by_kind=dict(kinds))

    @cached_property
    def channels(self) -> tuple[Channel, ...]:
        """The answer channel and the evidence channel."""
        return tuple(each.ranked() for each in self.merged.channels)

    def pieces(self, name: str) -> Iterable[pa.Table]:
        """The table of that name, as it is to be written."""
        pa.default_memory_pool().release_unused()  # row groups take what was needed before
        if name == "confusions":
            return confusion_pieces(self.merged, self.scratch, run_id=self.run.run_id)
        return self._samples() if name == "samples" else super().pieces(name)

    def _samples(self) -> Iterator[pa.Table]:
        """The samples, part by part, each with the columns of all metrics."""
        schema = self.tables.samples.schema
        for table in self.scratch.parts(schema.names):
            nothing = pa.nulls(len(table), pa.float64())
            known = set(table.column_names)
            yield pa.table(
                [table[name] if name in known else nothing for name in schema.names], schema=schema
            )


@contextmanager
def streamed(
    path: Path,
    *,
    by: Sequence[str] = (),
    cluster: str | None = None,
    manual: Manual | None = None,
    intake: Intake | None = None,
    rows: int = ROWS,
    reduced: Reduced = pool.reduced,
    where: Path | str | None = None,
) -> Iterator[Streamed | None]:
    """The run at `path`, measured in parts of `rows` records; None where it cannot be (`records.on_file`).

    `reduced` says who measures them, which changes no bit: `engines.pool`, `engines.cluster`. Its samples are on file in
    `where`, as by `shared_folder`, until the block ends. Raises as `engines.scored`, and UnknownName for a field that
    no record has.
    """
    taken = intake or Intake()
    with shared_folder(where) as folder:
        plan = measuring(path, intake=taken, rows=rows, manual=manual)
        if plan is None:
            yield None
            return
        measure, parts = plan
        pa.default_memory_pool().release_unused()  # what reading took, before workers inherit it
        scoring = Scoring(measure, tuple(by), cluster, stem(path), Scratch(folder))
        merged = reduced(scoring, Partial.plus, parts)
        on_file = replace(scoring, scratch=Scratch(folder, [merged.files[part.number] for part in parts]))
        yield _digest(on_file, merged, parts, reduced, taken)


def _digest(
    scoring: Scoring, merged: Partial, parts: Sequence[Part], reduced: Reduced, intake: Intake
) -> Streamed:
    """The digest of a run whose parts were measured and are on file."""
    _check(scoring, merged)
    scratch, clusters = scoring.scratch, _clusters(scoring, merged.n)
    charging = Charging(scratch, merged.clues.facts, recall_of(merged.told))
    added = reduced(charging, Charges.plus, [*lots(parts, clusters)])
    found, run = _tables(scoring, merged, clusters), _run(scoring, merged, intake)
    nobody, by, cluster = Failures((), 0, 0), scoring.by, scoring.cluster
    return Streamed(run, found, nobody, by, cluster, merged=merged, scratch=scratch, added=added)


def _check(scoring: Scoring, merged: Partial) -> None:
    """UnknownName for what no part has: a field, or a metric or a sample whose score somebody set."""
    if merged.unknown:
        raise UnknownName("field", min(merged.unknown), merged.known)
    manual = scoring.measuring.manual
    odd = [name for name, cells in manual.items() if merged.overridden[name] < len(cells)]
    if odd or not {*manual} <= {*merged.told}:
        keys = [key for table in scoring.scratch.parts(KEYED) for key in keys_of(table)]
        refuse_unknown(manual, [*merged.told], keys)


def _clusters(scoring: Scoring, n: int) -> Whole | None:
    """Which samples (n,) intervals draw together; null where each is drawn by itself."""
    found = scoring.measuring.run.cases
    cases = None if found is None else found.astype(np.int64)
    if scoring.cluster is None:
        return cases
    numbers: dict[str, int] = {}
    rows, labels, start = [], [], 0
    for table in scoring.scratch.parts([name := f"@labels:{scoring.cluster}"]):
        column: Any = table[name].combine_chunks()
        rows.append(start + np.repeat(np.arange(len(table)), np.diff(np.asarray(column.offsets))))
        texts = column.flatten().to_pylist()
        labels.append(np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64))
        start += len(table)
    every = np.arange(n) if cases is None else cases
    together = joined(every, np.concatenate(rows), np.concatenate(labels))
    return together if together.max() < n - 1 else None


def _tables(scoring: Scoring, merged: Partial, clusters: Whole | None) -> tables.Tables:
    run_id, manifest, scratch = scoring.run_id, scoring.measuring.manifest, scoring.scratch
    fields = [field for field in dict.fromkeys(scoring.by) if field not in SAMPLES.names]
    sliced = slice_parts(merged, scratch, dimensions(scoring.by), clusters)
    return tables.Tables(
        samples_schema([*merged.told], fields).empty_table(),
        slice_rows(sliced, run_id=run_id, eval_set_sha256=manifest.eval_set_sha256 if manifest else None),
        tables.confusions(merged.directions, run_id=run_id),
        tables.latency(distributions(lambda: _observed(scratch), n=merged.n), run_id=run_id),
    )


def _observed(scratch: Scratch) -> Iterator[Observed]:
    """What was timed and cut off in each part."""
    columns = [f"@{what}:{name}" for what in ("timed", "cut") for name in LATENCIES]
    for table in scratch.parts(columns):
        yield {
            name: (table[f"@timed:{name}"].to_numpy(), table[f"@cut:{name}"].to_numpy())
            for name in LATENCIES
            if f"@timed:{name}" in table.column_names
        }


def _run(scoring: Scoring, merged: Partial, intake: Intake) -> Run:
    measure, counts = scoring.measuring, intake.counts
    records = Records((), superseded=measure.run.columns.superseded, torn=counts.torn if counts else 0)
    by_hand = {name: merged.overridden[name] for name in measure.manual if merged.overridden[name]}
    return Run(
        scoring.run_id, records, [*merged.told.values()], measure.manifest, by_hand, intake, merged.spent
    )
