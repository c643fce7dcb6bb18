"""What to fix first: each cause with its evidence, its remedy and what mending it would win.

The gain is in points of the share of samples that pass. A sample that needs two things mended counts half
for each, so that all gains together are the failures; those that break a later gate as well may fail again.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.report.causes import Cause
from evalkit.report.charges import Charge, Charges
from evalkit.report.directions import Example
from evalkit.report.evidence import Evidence
from evalkit.report.gains import Gain
from evalkit.report.reasons import Gate
from evalkit.report.remedies import remedy

__all__ = ["Suggestion", "suggestions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One thing to fix: `title` says what was seen (with words from outside), `advice` what to do.

    `n` samples (the first `keys`) of `at_risk` that it could befall are charged with it; `again` of them break a later
    gate too. `gain` is how far the share of passing samples would rise.
    """

    kind: str
    subject: tuple[str, ...]
    gate: Gate
    title: str
    advice: str
    n: int
    at_risk: int
    again: int
    gain: Gain
    keys: tuple[str, ...]
    examples: tuple[Example, ...]


def suggestions(charges: Charges) -> list[Suggestion]:
    """A suggestion for each cause of a run's failures, largest lower bound of the gain first."""
    found = [_suggestion(charges, cause, charge) for cause, charge in charges.found().items()]
    return sorted(found, key=lambda each: (each.gain.rank, each.kind, each.subject))


def _suggestion(charges: Charges, cause: Cause, charge: Charge) -> Suggestion:
    cure, could = remedy(cause.kind), charges.at_risk(cause)
    at_risk = could.n + charge.outside.n
    return Suggestion(
        kind=cause.kind,
        subject=cause.subject,
        gate=charge.gate,
        title=cure.title(Evidence(cause, charge.n, charge.by_label, at_risk)),
        advice=cure.advice,
        n=charge.n,
        at_risk=at_risk,
        again=charge.again,
        gain=charges.gain(could, charge.inside, charge.outside),
        keys=charge.keys,
        examples=charge.examples,
    )
