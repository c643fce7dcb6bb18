"""From numbers to verdicts: each change is judged among the family of all that were looked at together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from evalkit.report.change import Change, Direction, Floats
from evalkit.report.wording import difference, probability, times
from evalkit.stats import benjamini_hochberg, holm

__all__ = ["judged"]


def judged(changes: Sequence[Change], *, alpha: float, family_wise: bool) -> tuple[Change, ...]:
    """The changes with q, Holm p, verdict and reason.

    Both correct for the changes that could be decided at all: those whose moved cases can reach `alpha`.
    Which cases moved does not say which way, so that leaving the others out costs no error. Changes by the
    same moves of the same cases (all flips of the run are in one slice, say) are one test, and count once.
    Times have a q among themselves: they always move, and their noise would hide what became of the answers.
    So q is never above the Holm p of the same changes, and what a gate proves, exploring finds as well.
    """
    corrected = _corrected(changes, alpha)
    return tuple(_judge(change, alpha=alpha, family_wise=family_wise) for change in corrected)


def _corrected(changes: Sequence[Change], alpha: float) -> list[Change]:
    decidable = [change for change in changes if change.p is not None and change.reachable_p <= alpha]
    p_holm = _adjusted(decidable, holm)
    q = {
        is_time: _adjusted([change for change in decidable if change.is_time == is_time], benjamini_hochberg)
        for is_time in (False, True)
    }
    tested = {id(change) for change in decidable}
    return [
        replace(change, q=q[change.is_time][change.evidence], p_holm=p_holm[change.evidence])
        if id(change) in tested
        else change
        for change in changes
    ]


def _adjusted(changes: Sequence[Change], correction: Callable[[list[float]], Floats]) -> dict[str, float]:
    """The corrected p of each test by its evidence."""
    family: dict[str, float] = {}
    for change in changes:
        family[change.evidence] = max(change.p or 0.0, family.get(change.evidence, 0.0))
    return dict(zip(family, correction(list(family.values())).tolist(), strict=True))


def _judge(change: Change, *, alpha: float, family_wise: bool) -> Change:
    decisive = change.p_holm if family_wise else change.q
    decided = decisive is not None and decisive <= alpha
    verdict = _verdict(change, decided=decided)
    return replace(
        change,
        verdict=verdict,
        suspect=verdict == "undecided" and change.mostly_fell,
        reason=_reason(change, verdict, alpha=alpha, family_wise=family_wise),
    )


def _verdict(change: Change, *, decided: bool) -> Direction:
    if change.n_common and not change.worse + change.better:
        return "same"
    if not decided:
        return "undecided"
    return "worse" if change.drop > 0 else "better"


def _reason(change: Change, verdict: Direction, *, alpha: float, family_wise: bool) -> str:
    if not change.n_common:
        return f"nothing is counted in both; the run lost {times(change.lost, 'sample')}"
    if verdict == "same":
        return f"no case moved; {_sight(change)}"
    tested = f"p = {probability(change.p)}"
    if change.reachable_p > alpha:
        moved, best = times(change.worse + change.better, "moved case"), probability(change.reachable_p)
        return f"too few cases to decide: {tested}, with {moved} {best} at best, wanted at most {alpha:g}"
    name, adjusted = ("Holm", change.p_holm) if family_wise else ("false-find control", change.q)
    tested += f", {probability(adjusted)} after {name}"
    if verdict == "undecided":
        return f"not decided: {tested}, wanted at most {alpha:g}; {_sight(change)}"
    return f"{tested}, at most {alpha:g}"


def _sight(change: Change) -> str:
    """What so many cases could have shown, and how many would show what was seen."""
    seen = difference(change.detectable, change.metric, change.facts).removeprefix("+")
    parts = [
        f"{times(change.n_cases, 'case')} show {seen} or more"
        if change.detectable
        else f"{times(change.n_cases, 'case')} could show nothing"
    ]
    needed = change.cases_needed
    if needed and needed > change.n_cases:
        parts.append(f"about {times(needed, 'case')} would show this")
    return ", ".join(parts)
