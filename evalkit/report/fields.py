"""Fields that somebody named to slice by, or to draw together by: known ones only, each as labels."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.contracts import Case, EvalRecord
from evalkit.errors import UnknownName
from evalkit.records import FIELDS_OF_RUN, Records
from evalkit.report.text import storable

__all__ = ["fields_of", "labels_of", "parts_of", "refuse_unknown"]


def labels_of(records: Records, field: str) -> list[list[str]]:
    """The labels by which each sample stands in slices of the field; empty where it stands in none."""
    groups = records.groups(field)
    labels: list[list[str]] = [[] for _ in records]
    for row, code in zip(groups.rows.tolist(), groups.codes.tolist(), strict=True):
        labels[row].append(storable(groups.labels[code]))
    return labels


def refuse_unknown(records: Sequence[Case], fields: Sequence[str]) -> None:
    """UnknownName for a field to slice by that none of the records, or cases, has; crossed fields one by one."""
    known = fields_of(records, fields)
    for part in parts_of(fields):
        if part not in known:
            raise UnknownName("field", part, known)


def fields_of(records: Sequence[Case], wanted: Sequence[str]) -> set[str]:
    """The fields that records can be sliced by; those of their own are looked for where one is `wanted`."""
    known = {*EvalRecord.model_fields, *FIELDS_OF_RUN}
    if not known.issuperset(parts_of(wanted)):
        known.update(name for record in records for name in record.model_extra or ())
    return known


def parts_of(fields: Sequence[str]) -> list[str]:
    """The fields among those that are crossed, each as the record has it: without what stands below it."""
    return [part.partition(".")[0] for field in fields for part in field.split(",")]
