"""What to fix first: each cause with its evidence, its remedy and what mending it would win.

The gain is in points of the share of samples that pass. A sample that needs two things mended counts half
for each, so that all gains together are the failures; those that break a later gate as well may fail again.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.report.causes import Cause, causes
from evalkit.report.charges import Charges
from evalkit.report.directions import Example, examples
from evalkit.report.evidence import Evidence
from evalkit.report.gains import Gain
from evalkit.report.reasons import Gate
from evalkit.report.remedies import remedy

__all__ = ["Suggestion", "suggestions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """One thing to fix: `title` says what was seen (with words from outside), `advice` what to do.

    `n` samples (`keys`) of `at_risk` that it could befall are charged with it; `again` of them break a later
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


def suggestions(charged: Charges) -> list[Suggestion]:
    """A suggestion for each cause of a run's failures, largest lower bound of the gain first."""
    found = [_suggestion(charged, cause, shares) for cause, shares in causes(charged).items()]
    return sorted(found, key=lambda each: (each.gain.rank, each.kind, each.subject))


def _suggestion(charged: Charges, cause: Cause, shares: dict[int, float]) -> Suggestion:
    cure = remedy(cause.kind)
    at_risk = cure.at_risk(charged, cause)
    at_risk[list(shares)] = True
    records = tuple(charged.records[row] for row in shares)
    seen = Evidence(cause, records, int(at_risk.sum()))
    failures = [charged.failed[row] for row in shares]
    return Suggestion(
        kind=cause.kind,
        subject=cause.subject,
        gate=failures[0].gate,
        title=cure.title(seen),
        advice=cure.advice,
        n=len(records),
        at_risk=seen.at_risk,
        again=sum(len({reason.gate for reason in failure.reasons}) > 1 for failure in failures),
        gain=charged.gain(shares, at_risk),
        keys=tuple(record.key for record in records),
        examples=examples(
            (record.key for record in records), ("\n".join(record.user_turns) for record in records)
        ),
    )
