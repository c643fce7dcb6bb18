"""Where the three sources of a slot's value differ: shown, never settled in silence."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord
from evalkit.finding.literals import literal
from evalkit.finding.slots import Evidence, Finding, evidence, is_value, reports

__all__ = ["Disagreement", "disagreements"]


class Disagreement(NamedTuple):
    """A slot of which its sources tell different things; `findings` are those of the sources that tell one.

    `values`: they tell different values. `unreported`: it was said, and the target's report lacks it.
    `unsaid`: the target reports it, and no text that was searched says so.
    """

    slot: str
    kind: Literal["values", "unreported", "unsaid"]
    findings: tuple[Finding, ...]


def disagreements(record: EvalRecord) -> list[Disagreement]:
    """The required slots whose sources differ, in the order they are required; none where all agree."""
    told = reports(record)
    kinds = ((one, _kind(one, told=told, record=record)) for one in evidence(record))
    return [Disagreement(one.slot.name, kind, _findings(one)) for one, kind in kinds if kind]


def _findings(one: Evidence) -> tuple[Finding, ...]:
    return tuple(finding for finding in (one.stated, one.confirmed, one.reported) if finding)


def _kind(
    one: Evidence, *, told: bool, record: EvalRecord
) -> Literal["values", "unreported", "unsaid"] | None:
    findings = _findings(one)
    if any(not _agree(one, (first, other), record) for first, other in pairwise(findings)):
        return "values"
    if told and one.reported is None and findings:
        return "unreported"
    return "unsaid" if one.sought and len(findings) == 1 and one.reported else None


def _agree(one: Evidence, pair: tuple[Finding, Finding], record: EvalRecord) -> bool:
    """Whether both are the reference value, or the same in canonical form, or one is part of the other."""
    if all(is_value(finding, one.slot, record) for finding in pair):
        return True
    first, second = (
        "".join((literal(finding.canonical) or str(finding.canonical)).split()) for finding in pair
    )
    return first in second or second in first
