"""Precision, recall and F1 of each slot, over the records that know its right value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evalkit.contracts import EvalRecord
from evalkit.finding import Trust, found, is_value
from evalkit.records import Records, RecordsLike

__all__ = ["SlotReport", "slot_report"]


@dataclass(frozen=True, slots=True)
class SlotReport:
    """How often one slot got its reference value: counts of records, and their rates.

    `right`: filled with it. `wrong`: filled with another value. `missing`: not filled.
    """

    slot: str
    right: int
    wrong: int
    missing: int

    @property
    def precision(self) -> float | None:
        """Right among filled; null where none was filled."""
        return _share(self.right, self.right + self.wrong)

    @property
    def recall(self) -> float | None:
        """Right among all that know the reference value."""
        return _share(self.right, self.right + self.wrong + self.missing)

    @property
    def f1(self) -> float | None:
        """2 · right / (filled + required): the harmonic mean of precision and recall."""
        return _share(2 * self.right, 2 * self.right + 2 * self.wrong + self.missing)


def slot_report(records: RecordsLike, *, trust: Trust = "report") -> list[SlotReport]:
    """Each slot's report, by name, over required slots with a reference value.

    Counted: the answer is ok, and `found` can tell. A slot that is never counted is not listed; no record, no
    report. Raises UsageError for a bad pattern.
    """
    tally: dict[str, list[int]] = {}
    table = Records.of(records)
    for row in np.flatnonzero(table.given("required_slots")).tolist():
        for slot, place in _results(table[row], trust):
            tally.setdefault(slot, [0, 0, 0])[place] += 1
    return [SlotReport(slot, *counts) for slot, counts in sorted(tally.items())]


def _results(record: EvalRecord, trust: Trust) -> Iterator[tuple[str, int]]:
    """Of each slot with a reference value: 0 right, 1 wrong, 2 missing."""
    valued = {slot.name: slot for slot in record.required_slots if slot.value is not None}
    findings = found(record, trust=trust) if valued and record.answer_status == "ok" else None
    if findings is None:
        return
    values = {finding.slot: finding for finding in findings}
    for name, slot in valued.items():
        finding = values.get(name)
        yield name, 2 if finding is None else int(not is_value(finding, slot, record))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
