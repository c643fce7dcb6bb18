"""A run measured part by part: the same scores as over all of it at once, in as much memory as a part takes.

Where a score hangs on other records, what it needs of them is looked up before: which intent stands under which,
and the other tries of a part's cases. A metric of your own sees one part at a time.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit import runs
from evalkit.contracts import Manifest, MetricResult
from evalkit.engines.configured import configured
from evalkit.engines.local import is_ours, local, refuse_twice, told
from evalkit.engines.overrides import Manual, put
from evalkit.engines.rules import with_verdicts
from evalkit.errors import EvalkitError, Incomplete
from evalkit.judgements import Joining, judged_path, read_judged
from evalkit.metrics.intent import parents_of
from evalkit.metrics.judged import JUDGE_ERRORS
from evalkit.metrics.outcome import spare
from evalkit.reading import Intake
from evalkit.records import OnFile, Records, on_file
from evalkit.registry import Spec, bind
from evalkit.slices import PerSample, Scores, slice_mean

__all__ = ["LARGE", "Measured", "Measuring", "Part", "Place", "bears_parts", "measuring"]

LARGE = 32 << 20
"""Files of more bytes are measured part by part where nobody says how: it takes no longer, and less memory."""

Rows = NDArray[np.int64]
_LONGEST = 300
_JUDGED = "judged"
_OUTCOME = "outcome"
_OF_CASES = "passes"
"""The family that holds the tries of a case against each other."""


Place: TypeAlias = tuple[int, int, str]
"""What results are sorted by: their family, and where they stand in it."""


class Measured(NamedTuple):
    """The records of a part, with verdicts and judgements, and the results over them, each with its place by name.

    `spare` are the bounds that say nothing here: a run leaves them out where that is so in all its parts.
    `overridden` counts the scores that people set, by metric; `spent` has the CPU seconds of each metric of others.
    """

    records: Records
    results: list[MetricResult]
    places: dict[str, Place]
    spare: frozenset[str]
    overridden: Mapping[str, int]
    spent: Mapping[str, float]


class Part(NamedTuple):
    """The records from `start` to before `stop`; `kin` are the rows of all tries of their cases, where some lie elsewhere."""

    number: int
    start: int
    stop: int
    kin: Rows | None
    told: str

    def __str__(self) -> str:
        """The file, and which of its lines these are about: `run.jsonl, lines 1 to 4096`."""
        return self.told


@dataclass(frozen=True)
class Measuring:
    """How to measure any part of a run; can be sent to another process.

    `specs` are the metrics with what their results say of their parameters, `parents` the label above each, `manual`
    the scores that people set.
    """

    run: OnFile
    manifest: Manifest | None
    specs: Sequence[tuple[Spec, str]]
    of_run: Mapping[str, str]
    parents: Mapping[str, str]
    manual: Manual

    @cached_property
    def _said(self) -> Joining:
        return Joining(read_judged(judged_path(self.run.path)))

    def __getstate__(self) -> dict[str, Any]:
        """Another process reads the judgements itself."""
        return {name: value for name, value in vars(self).items() if name != "_said"}

    def of(self, part: Part) -> Measured:
        """The part, measured; raises as `local`, and Incomplete naming the part for what fails without a word."""
        try:
            return self._measured(part)
        except EvalkitError:
            raise
        except Exception as error:
            found = f"{type(error).__name__}: {error}"[:_LONGEST]
            raise Incomplete(f"{part}: found {found}, wanted scores; mend the metric or the line.") from error

    def _measured(self, part: Part) -> Measured:
        records = self._ready(self.run.between(part.start, part.stop))
        results, places, idle = list[MetricResult](), dict[str, Place](), frozenset[str]()
        spent: dict[str, float] = {}
        for family, (spec, params) in enumerate(self.specs):
            start = time.process_time()
            found = list(self._one(spec, params, records, part))
            if not is_ours(spec):
                spent[spec.type] = time.process_time() - start
            places |= {one.name: (family, *_place(spec, one, number)) for number, one in enumerate(found)}
            idle |= spare(records, found) if _is_open(spec) else frozenset()
            results += found
        refuse_twice(result.name for result in results)
        results, counts = put(records, results, self.manual)
        return Measured(records, results, places, idle, counts, spent)

    def _one(self, spec: Spec, params: str, records: Records, part: Part) -> Iterator[MetricResult]:
        if spec.type != _OF_CASES or part.kin is None:
            found = local(records, metrics=[_bounded(spec)])
        else:
            mine = np.flatnonzero((part.kin >= part.start) & (part.kin < part.stop))
            wide = local(self._ready(self.run.at(part.kin)), metrics=[spec])
            found = [_cut(result, records, mine) for result in wide]
        yield from (replace(result, params=params) for result in found)

    def _ready(self, records: Records) -> Records:
        found = with_verdicts(self._said.to(records))
        found.of_run = self.of_run
        return found


def _is_open(spec: Spec) -> bool:
    """Whether the outcome of all tasks tells if there are bounds."""
    return spec.type == _OUTCOME and spec.params.get("bounds") is None


def _bounded(spec: Spec) -> Spec:
    """The metric with bounds in any case: another part may have a task that is undecided."""
    return Spec(spec.type, {**spec.params, "bounds": True}) if _is_open(spec) else spec


def _place(spec: Spec, result: MetricResult, number: int) -> tuple[int, str]:
    """Where the result stands in its family: another part may have other judged metrics, which stand by name."""
    if spec.type != _JUDGED:
        return number, ""
    return int(result.name == JUDGE_ERRORS), result.name


def _cut(result: MetricResult, records: Records, rows: Rows) -> MetricResult:
    """The result over those rows of its records, which are these."""
    found = result.per_sample
    if not isinstance(found, PerSample):
        raise TypeError("wanted the scores of slice_mean")
    scores = Scores(found.scores.values[rows], found.scores.counted[rows])
    return replace(result, **slice_mean(records, scores)._asdict())


def bears_parts() -> bool:
    """Whether all metrics that are configured are of this package: one of your own may compare records with each other."""
    return all(map(is_ours, configured()))


def measuring(
    path: Path, *, intake: Intake, rows: int, manual: Manual | None = None
) -> tuple[Measuring, list[Part]] | None:
    """How to measure the run at `path`, and its parts of `rows` records each; None where it cannot be cut
    (`records.on_file`).

    Raises as `records.load`, and as `local` where a metric is not known or its parameters do not fit.
    """
    run = on_file(path, intake)
    if run is None:
        return None
    manifest = runs.manifest(path)
    parents = manifest.intent_parents if manifest else {}
    own = parents or parents_of(run.pairs("intent_l2", "intent_l1"))
    specs = []
    for spec in configured():
        intent = spec.type == "intent"
        shown = told({"parents": parents, **spec.params} if intent and parents else spec.params)
        specs.append((Spec(spec.type, {"parents": own, **spec.params}) if intent else spec, shown))
    for spec, _ in specs:
        bind("metric", spec)  # refused here; and loaded once, for all workers that are forked
    of_run = {"target": manifest.target} if manifest else {}
    return Measuring(run, manifest, tuple(specs), of_run, own, manual or {}), list(_parts(run, rows))


def _parts(run: OnFile, rows: int) -> Iterator[Part]:
    cases = run.cases
    for number, start in enumerate(range(0, len(run), rows)):
        stop = min(start + rows, len(run))
        kin = None if cases is None else _kin(cases, start, stop)
        yield Part(number, start, stop, kin, run.where(start, stop))


def _kin(cases: NDArray[np.int32], start: int, stop: int) -> Rows | None:
    mine = np.zeros(int(cases.max()) + 1, dtype=np.bool_)
    mine[cases[start:stop]] = True
    rows = np.flatnonzero(mine[cases])
    return None if len(rows) == stop - start else rows
