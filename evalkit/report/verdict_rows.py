"""What the readable outputs show of a comparison: which changes, which flips, and each in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit.report.change import OVERALL, Change
from evalkit.report.compare import Comparison, Flip
from evalkit.report.wording import difference, number, probability, span_of, times

__all__ = [
    "ChangeRow",
    "change_row",
    "changed_rows",
    "flips_by_metric",
    "headlines",
    "moved_slices",
    "noise",
    "overall_changes",
    "unpaired",
    "yardstick",
]

NAMED = 3

_RANK = {
    "worse": 0,
    "slower": 0,
    "suspect": 1,
    "lost": 2,
    "better": 3,
    "faster": 3,
    "undecided": 4,
    "same": 5,
}
_OF_TIMES = {"worse": "slower", "better": "faster"}
_HEADS = {
    "worse": "worse",
    "better": "better",
    "suspect": "suspect, most cases fell but too few to prove it",
    "lost": "lost, the run has nothing to compare",
    "slower": "slower",
    "faster": "faster",
}
"""How the headline of the changes with each word begins, in this order."""


class ChangeRow(NamedTuple):
    """A change in words, cell by cell; `moved` is the cases that got worse and better of all, and the samples lost."""

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
        name=_name(change),
        base=number(change.base_mean, metric, facts),
        run=number(change.run_mean, metric, facts),
        delta=difference(change.delta, metric, facts),
        interval=span_of(change.ci_low, change.ci_high, metric, facts),
        p=probability(change.p),
        adjusted=probability(adjusted),
        moved=_cases(change),
        verdict=_word(change),
    )


def _cases(change: Change) -> str:
    if change.gone:
        return f"all {times(change.lost, 'sample')} lost"
    lost = f", {times(change.lost, 'sample')} lost" if change.lost else ""
    return f"{change.worse}/{change.better} of {change.n_cases:,}{lost}"


def _name(change: Change) -> str:
    return change.metric if change.dimension == OVERALL else f"{change.metric} {change.slice}"


def overall_changes(comparison: Comparison) -> list[Change]:
    """The changes over the whole run, times last, without those that count nothing in both."""
    whole = [change for change in comparison.changes if change.dimension == OVERALL and _counts(change)]
    return sorted(whole, key=lambda change: change.is_time)


def _counts(change: Change) -> bool:
    """Whether the base counted anything: what counts in neither run, or in the run alone, has no change."""
    return change.n_common + change.lost > 0


def changed_rows(comparison: Comparison) -> tuple[list[ChangeRow], list[ChangeRow]]:
    """The changes over the whole run, and those of the slices that moved, in words."""
    whole, slices = overall_changes(comparison), moved_slices(comparison)
    return [change_row(c, comparison) for c in whole], [change_row(c, comparison) for c in slices]


def moved_slices(comparison: Comparison) -> list[Change]:
    """The slices that moved: proven worse first, then suspects, lost and better ones, the rest by their p; times last.

    A time moves in every slice, so that it is here only where that is proven, or all of it is lost.
    """
    moved = [c for c in comparison.changes if c.dimension != OVERALL and c.verdict != "same"]
    return sorted((c for c in moved if not noise(c)), key=lambda change: (change.is_time, *_rank(change)))


def noise(change: Change) -> bool:
    """Whether a time moved that was not lost altogether, and chance may have moved it."""
    return change.is_time and change.verdict == "undecided" and change.n_common > 0


def unpaired(comparison: Comparison) -> dict[str, tuple[str, ...]]:
    """The samples that were not compared, by what became of them: of one eval set, none was removed but lost."""
    gone, new = ("lost", "not in the base") if comparison.same_set else ("removed", "added")
    return {gone: comparison.removed, "changed": comparison.changed, new: comparison.added}


def headlines(comparison: Comparison) -> list[str]:
    """The comparison in a few lines: what forbids an answer, else what got worse or better, else that nothing did.

    Times come last: they move whenever the machine is busier.
    """
    doubts = [f"cannot decide: {text}" for text in comparison.incomplete]
    doubts += [f"refused: {refusal.text}" for refusal in comparison.refusals]
    told_of = [change for change in comparison.changes if not noise(change)]
    ranked = sorted(told_of, key=lambda change: (change.dimension != OVERALL, *_rank(change)))
    decided = _headed([change for change in ranked if not change.is_time])
    return [*doubts, *(decided or _nothing(comparison)), *_headed([c for c in ranked if c.is_time])]


def _headed(ranked: Sequence[Change]) -> list[str]:
    found = {word: [change for change in ranked if _word(change) == word] for word in _HEADS}
    return [f"{_HEADS[word]}: {_named(changes)}" for word, changes in found.items() if changes]


def _word(change: Change) -> str:
    """The verdict in one word; a time is never suspect, because most of its cases move in every run."""
    if change.gone:
        return "lost"
    if change.is_time:
        return _OF_TIMES.get(change.verdict, change.verdict)
    return "suspect" if change.suspect else change.verdict


def _named(changes: Sequence[Change]) -> str:
    names = ", ".join(_moved(change) for change in changes[:NAMED])
    return names + (f" and {len(changes) - NAMED} more" if len(changes) > NAMED else "")


def _moved(change: Change) -> str:
    if change.gone:
        return f"{_name(change)} ({times(change.lost, 'sample')})"
    means = (number(mean, change.metric, change.facts) for mean in (change.base_mean, change.run_mean))
    return f"{_name(change)} ({' → '.join(means)})"


def _nothing(comparison: Comparison) -> list[str]:
    """That nothing was found, and whether anything moved at all; nothing to say where nothing was compared."""
    whole = overall_changes(comparison)
    if not whole:
        return [] if comparison.refusals else ["nothing counts in both runs"]
    moved = [change for change in whole if change.verdict != "same"]
    other = [change for change in moved if not change.is_time]
    if other:
        return [f"nothing proven: {times(len(other), 'metric')} moved no more than chance may"]
    what = "nothing but times" if moved else "nothing"
    return [f"{what} moved in the {times(comparison.n_common, 'sample')} compared"]


def yardstick(comparison: Comparison) -> str:
    """What the verdicts of a comparison go by, and why the other command may see the same change otherwise."""
    if comparison.family_wise:
        return (
            f"worse and better by Holm p ≤ {comparison.alpha:g} over the policy's metrics and slices; "
            "`evalkit diff` goes by q over all it compares, and may differ"
        )
    return (
        f"worse and better by q ≤ {comparison.alpha:g} over all that is compared; "
        "`evalkit gate` goes by Holm p over its policy alone and allows max_drop, and may differ"
    )


def _rank(change: Change) -> tuple[int, float, float]:
    return _RANK[_word(change)], 1.0 if change.p is None else change.p, -change.drop


def flips_by_metric(comparison: Comparison) -> dict[str, Sequence[Flip]]:
    """The flips of each metric that has any, worse ones first."""
    found: dict[str, list[Flip]] = {}
    for flip in comparison.flips:
        found.setdefault(flip.metric, []).append(flip)
    return dict(found)
