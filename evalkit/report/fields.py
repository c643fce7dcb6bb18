"""Fields that somebody named to slice by, or to draw together by: known ones only, each as labels."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.contracts import Case, EvalRecord
from evalkit.errors import UnknownName
from evalkit.records import FIELDS_OF_RUN, Records
from evalkit.report.text import storable

__all__ = ["labels_of", "refuse_unknown"]


def labels_of(records: Records, field: str) -> list[list[str]]:
    """The labels by which each sample stands in slices of the field; empty where it stands in none."""
    groups = records.groups(field)
    labels: list[list[str]] = [[] for _ in records]
    for row, code in zip(groups.rows.tolist(), groups.codes.tolist(), strict=True):
        labels[row].append(storable(groups.labels[code]))
    return labels


def refuse_unknown(records: Sequence[Case], fields: Sequence[str]) -> None:
    """UnknownName for a field to slice by that none of the records, or cases, has; crossed fields one by one."""
    parts = [part.partition(".")[0] for field in fields for part in field.split(",")]
    known = {*EvalRecord.model_fields, *FIELDS_OF_RUN}
    if known.issuperset(parts):
        return
    known.update(name for record in records for name in record.model_extra or ())
    for part in parts:
        if part not in known:
            raise UnknownName("field", part, known)
