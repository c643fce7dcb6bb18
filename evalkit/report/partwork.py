"""What is done with each part of a run: first it is measured, then, once the facts of the run are known, charged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evalkit.engines.parted import Measuring, Part
from evalkit.report.causes import Facts
from evalkit.report.charge_columns import COLUMNS
from evalkit.report.charges import Charges
from evalkit.report.charging import charge
from evalkit.report.failures import failures
from evalkit.report.lots import ALONE, numbered
from evalkit.report.partial import Partial, Seen, partial
from evalkit.report.remedies import RISKS
from evalkit.report.sample_table import sample_rows
from evalkit.report.schemas import SAMPLES
from evalkit.report.scratch import Scratch, beside
from evalkit.report.sheet import Sheet
from evalkit.report.slice_table import dimensions

__all__ = ["Charging", "Lot", "Reduced", "Scoring", "lots"]

_Item = TypeVar("_Item")
_Found = TypeVar("_Found")
Whole = NDArray[np.int64]


class Reduced(Protocol):
    """Does the first with each item, and adds up what comes of it in their order."""

    def __call__(
        self,
        function: Callable[[_Item], _Found],
        plus: Callable[[_Found, _Found], _Found],
        items: Sequence[_Item],
        /,
    ) -> _Found: ...


@dataclass(frozen=True)
class Scoring:
    """Measures a part, slices it by these fields, and puts its samples on file."""

    measuring: Measuring
    by: tuple[str, ...]
    cluster: str | None
    run_id: str
    scratch: Scratch

    def __call__(self, part: Part) -> Partial:
        """What is kept of the part."""
        measured = self.measuring.of(part)
        records, results = measured.records, measured.results
        every = dimensions(self.by)
        samples = sample_rows(records, results, run_id=self.run_id, by=self.by)
        seen = Seen(measured, samples, failures(records, results))
        labelled = [*every, self.cluster] if self.cluster else every
        kept = partial(seen, every, cluster=self.cluster, parents=self.measuring.parents)
        file = self.scratch.put(part.number, samples, beside(seen, labelled))
        return replace(kept, files={part.number: file})


class Lot(NamedTuple):
    """A part by its number, and the `clusters` (n,) of its samples, null where each is alone in its own."""

    number: int
    clusters: Whole | None
    told: str

    def __str__(self) -> str:
        """What the part was called."""
        return self.told


@dataclass(frozen=True)
class Charging:
    """Charges the failures of a part to their causes, from its samples on file."""

    scratch: Scratch
    facts: Facts
    recall: str

    def __call__(self, lot: Lot) -> Charges:
        """The charges of the part."""
        metrics = [self.recall, *(metric for metric, _ in RISKS)]
        table = self.scratch.part(lot.number, [*SAMPLES.names, *COLUMNS, *metrics])
        clusters = np.full(len(table), ALONE) if lot.clusters is None else lot.clusters
        return charge(Sheet(table, self.recall), self.facts, clusters)


def lots(parts: Sequence[Part], clusters: Whole | None) -> Iterator[Lot]:
    """The parts, to be charged, with their part of the `clusters` (n,) of the run's samples."""
    numbers = None if clusters is None else numbered(clusters)
    for part in parts:
        mine = None if numbers is None else numbers[part.start : part.stop]
        yield Lot(part.number, mine, part.told)
