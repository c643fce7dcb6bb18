"""What the readable outputs show of a comparison: which changes, which flips, and each in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit.report.change import OVERALL, Change
from evalkit.report.compare import Comparison, Flip
from evalkit.report.wording import difference, number, probability, span_of

__all__ = ["ChangeRow", "change_row", "changed_rows", "flips_by_metric", "moved_slices", "overall_changes"]

_RANK = {"worse": 0, "better": 2, "undecided": 3, "same": 4}


class ChangeRow(NamedTuple):
    """A change in words, cell by cell; `moved` is the cases that got worse and better of all."""

    name: str
    base: str
    run: str
    delta: str
    interval: str
    p: str
    adjusted: str
    moved: str
    verdict: str


def change_row(change: Change, comparison: Comparison) -> ChangeRow:
    """The cells of a change; `adjusted` is what the verdicts of the comparison go by: the Holm p, or q."""
    metric, facts = change.metric, change.facts
    adjusted = change.p_holm if comparison.family_wise else change.q
    return ChangeRow(
        name=metric if change.dimension == OVERALL else f"{metric} {change.slice}",
        base=number(change.base_mean, metric, facts),
        run=number(change.run_mean, metric, facts),
        delta=difference(change.delta, metric, facts),
        interval=span_of(change.ci_low, change.ci_high, metric, facts),
        p=probability(change.p),
        adjusted=probability(adjusted),
        moved=f"{change.worse}/{change.better} of {change.n_cases:,}",
        verdict="suspect" if change.suspect else change.verdict,
    )


def overall_changes(comparison: Comparison) -> list[Change]:
    """The changes over the whole run, in the order of the metrics."""
    return [change for change in comparison.changes if change.dimension == OVERALL]


def changed_rows(comparison: Comparison) -> tuple[list[ChangeRow], list[ChangeRow]]:
    """The changes over the whole run, and those of the slices that moved, in words."""
    whole, slices = overall_changes(comparison), moved_slices(comparison)
    return [change_row(c, comparison) for c in whole], [change_row(c, comparison) for c in slices]


def moved_slices(comparison: Comparison) -> list[Change]:
    """The slices that moved: proven worse first, then suspects, better ones, and the rest by their p."""
    moved = [c for c in comparison.changes if c.dimension != OVERALL and c.verdict != "same"]
    return sorted(moved, key=_rank)


def _rank(change: Change) -> tuple[int, float, float]:
    rank = 1 if change.suspect else _RANK[change.verdict]
    return rank, 1.0 if change.p is None else change.p, -change.drop


def flips_by_metric(comparison: Comparison) -> dict[str, Sequence[Flip]]:
    """The flips of each metric that has any, worse ones first."""
    found: dict[str, list[Flip]] = {}
    for flip in comparison.flips:
        found.setdefault(flip.metric, []).append(flip)
    return dict(found)
