"""A run scored part by part: the tables of `build.score_run`, from sums that add up and samples that are on file."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from evalkit.engines.parted import Measuring, Part, measuring
from evalkit.engines.pool import reduced
from evalkit.errors import UnknownName
from evalkit.metrics.intent import LabelReport
from evalkit.metrics.latency import LATENCIES, Observed, distributions
from evalkit.reading import Intake, stem
from evalkit.records import Records
from evalkit.report import tables
from evalkit.report.channels import Channel
from evalkit.report.digest import Digest, Run
from evalkit.report.failures import FailureCounts, Failures
from evalkit.report.partial import Partial, partial, together
from evalkit.report.redrawn import slice_parts
from evalkit.report.sample_table import sample_rows
from evalkit.report.schemas import SAMPLES, samples_schema
from evalkit.report.scratch import Scratch, beside
from evalkit.report.slice_table import dimensions, slice_rows
from evalkit.report.wrong import confusion_pieces

__all__ = ["ROWS", "Reduced", "Scoring", "Streamed", "streamed"]

ROWS = 4_096
"""Records of a part."""

Reduced: TypeAlias = Callable[
    [Callable[[Part], Partial], Callable[[Partial, Partial], Partial], Sequence[Part]], Partial
]
"""Does the first with each part, and adds up what comes of it in the order of the parts."""


@dataclass(frozen=True, kw_only=True)
class Streamed(Digest):
    """A run that was measured part by part: all numbers of a digest; samples and records stay on file."""

    merged: Partial
    scratch: Scratch
    apart = True

    @cached_property
    def labels(self) -> Sequence[LabelReport]:
        """How each label fares."""
        return self.merged.labels

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
    intake: Intake | None = None,
    rows: int = ROWS,
    reduced: Reduced = reduced,
    folder: Path | None = None,
) -> Iterator[Streamed | None]:
    """The run at `path`, measured in parts of `rows` records; None where it cannot be (`records.on_file`).

    `reduced` says who measures them, which changes no bit: `engines.pool`, `engines.cluster`.

    Its samples are in a folder of their own, in `folder` where one is given, until the block ends. Raises as `engines.scored`, and UnknownName for
    a field that no record has.
    """
    taken = intake or Intake()
    with tempfile.TemporaryDirectory(prefix=".parts-", dir=folder) as place:
        plan = measuring(path, intake=taken, rows=rows)
        if plan is None:
            yield None
            return
        measure, parts = plan
        pa.default_memory_pool().release_unused()  # what reading took, before workers inherit it
        scratch = Scratch(Path(place), len(parts))
        scoring = Scoring(measure, tuple(by), stem(path), scratch)
        yield _digest(measure, reduced(scoring, _plus, parts), scratch, taken, tuple(by))


@dataclass(frozen=True)
class Scoring:
    """What is done with each part of a run: measured, sliced by these fields, its samples put on file."""

    measuring: Measuring
    by: tuple[str, ...]
    run_id: str
    scratch: Scratch

    def __call__(self, part: Part) -> Partial:
        """What is kept of the part."""
        measured = self.measuring.of(part)
        every = dimensions(self.by)
        samples = sample_rows(measured.records, measured.results, run_id=self.run_id, by=self.by)
        kept = partial(measured, samples, every)
        self.scratch.put(part.number, samples, beside(measured.records, every))
        return kept


def _plus(first: Partial, second: Partial) -> Partial:
    return together([first, second])


def _digest(
    measure: Measuring, merged: Partial, scratch: Scratch, intake: Intake, by: tuple[str, ...]
) -> Streamed:
    if merged.unknown:
        raise UnknownName("field", min(merged.unknown), merged.known)
    run_id, sha = stem(measure.run.path), measure.manifest.eval_set_sha256 if measure.manifest else None
    fields = [field for field in dict.fromkeys(by) if field not in SAMPLES.names]
    found = tables.Tables(
        samples_schema([*merged.told], fields).empty_table(),
        slice_rows(
            slice_parts(merged, scratch, dimensions(by), measure.run.cases()),
            run_id=run_id,
            eval_set_sha256=sha,
        ),
        tables.confusions(merged.directions, run_id=run_id),
        tables.latency(distributions(lambda: _observed(scratch), n=merged.n), run_id=run_id),
    )
    counts = intake.counts
    records = Records((), superseded=measure.run.columns.superseded, torn=counts.torn if counts else 0)
    run = Run(run_id, records, [*merged.told.values()], measure.manifest, intake=intake)
    return Streamed(run, found, Failures((), 0, 0), by, merged=merged, scratch=scratch)


def _observed(scratch: Scratch) -> Iterator[Observed]:
    """What was timed and cut off in each part."""
    columns = [f"@{what}:{name}" for what in ("timed", "cut") for name in LATENCIES]
    for table in scratch.parts(columns):
        yield {
            name: (table[f"@timed:{name}"].to_numpy(), table[f"@cut:{name}"].to_numpy())
            for name in LATENCIES
            if f"@timed:{name}" in table.column_names
        }
