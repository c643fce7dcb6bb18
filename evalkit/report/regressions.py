"""Regression checks: a metric against the baseline, overall and in each slice, with noise told from change.

Proven worse is a regression. Not proven is a pass only where the fall is small, or allowed: an unproven large
fall decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from evalkit.report.change import OVERALL, Change
from evalkit.report.compare import Comparison
from evalkit.report.coverage import SLACK, Ground, coverage, doubt
from evalkit.report.policy import Policy
from evalkit.report.verdict import CANNOT_DECIDE, PASS, REGRESSION, Check, Outcome
from evalkit.report.wording import difference, number, probability, times

__all__ = ["regression_checks"]


class _Ruling(NamedTuple):
    """How a change is taken."""

    verdict: Outcome
    reason: str
    flagged: bool = False


def regression_checks(ground: Ground, comparison: Comparison) -> Iterator[Check]:
    """A check for each change of a metric that must not get worse: overall, then slice by slice."""
    for change in comparison.changes:
        if change.metric in ground.policy.regression:
            ruling = (
                _overall(ground, change) if change.dimension == OVERALL else _slice(ground.policy, change)
            )
            yield _check(change, ruling, _allowed(ground.policy, change))


def _limit(policy: Policy, change: Change) -> float | None:
    """How far the policy lets this very change fall; null where it does not say."""
    if change.dimension == OVERALL:
        return policy.max_drop.get(change.metric)
    limits = policy.limits(change.dimension, change.slice)
    return limits.max_drop.get(change.metric) if limits else None


def _allowed(policy: Policy, change: Change) -> float | None:
    """How far it may fall though that is proven: a slice without a limit of its own as far as the whole."""
    limit = _limit(policy, change)
    return policy.max_drop.get(change.metric) if limit is None else limit


def _overall(ground: Ground, change: Change) -> _Ruling:
    policy = ground.policy
    seen = coverage(ground.run, change.metric, ground.expected)
    why_not = doubt(seen, min_n=policy.min_n, min_coverage=policy.min_coverage)
    if not why_not and not change.n_common:
        why_not = "nothing is counted in both runs"
    if why_not:
        return _Ruling(CANNOT_DECIDE, why_not)
    limit = _limit(policy, change)
    if change.verdict == "worse":
        return _proven(change, limit)
    doubtful = _unproven(change, limit) or (_leaning(policy, change) if limit is None else "")
    return _Ruling(CANNOT_DECIDE if doubtful else PASS, doubtful or change.reason)


def _slice(policy: Policy, change: Change) -> _Ruling:
    if change.verdict == "worse":
        return _proven(change, _allowed(policy, change))
    doubtful = _unproven(change, _limit(policy, change))
    if doubtful:
        return _Ruling(CANNOT_DECIDE, doubtful)
    if change.suspect or change.gone:
        stops = policy.suspect == "stop"
        told = change.reason if change.gone else f"suspect: {_moved(change)}; {change.reason}"
        return _Ruling(CANNOT_DECIDE if stops else PASS, told, flagged=True)
    return _Ruling(PASS, change.reason)


def _proven(change: Change, limit: float | None) -> _Ruling:
    if limit is not None and change.drop <= limit + SLACK:
        return _Ruling(
            PASS, f"worse, but within the allowed {_size(limit, change)}; {change.reason}", flagged=True
        )
    return _Ruling(REGRESSION, f"{_moved(change)}; {change.reason}")


def _unproven(change: Change, limit: float | None) -> str:
    """Why a fall beyond its limit, that chance could explain, decides nothing; empty for any other change."""
    if limit is None or change.drop <= limit + SLACK:
        return ""
    return f"{_moved(change)}, more than the allowed {_size(limit, change)}; {change.reason}"


def _leaning(policy: Policy, change: Change) -> str:
    """Why a fall without a limit of its own is too large, or too likely real, to pass unproven."""
    if change.drop <= SLACK:
        return ""
    if change.bounded and change.drop > policy.undecided_drop + SLACK:
        return f"{_moved(change)}, more than {_size(policy.undecided_drop, change)} and unproven; {change.reason}"
    one_sided = (change.p or 1.0) / 2
    if change.suspect or one_sided <= policy.alpha:
        return f"{_moved(change)} (one-sided p = {probability(one_sided)}); {change.reason}"
    return ""


def _size(value: float, change: Change) -> str:
    return difference(value, change.metric, change.facts).removeprefix("+")


def _moved(change: Change) -> str:
    """What happened, in words: the means, the difference, and how many cases moved which way."""
    if change.n_common == 0:
        return f"all {times(change.lost, 'sample')} lost"
    means = [number(mean, change.metric, change.facts) for mean in (change.base_mean, change.run_mean)]
    moved = f"{change.worse} worse, {change.better} better of {times(change.n_cases, 'case')}"
    return f"{means[0]} → {means[1]} ({difference(change.delta, change.metric, change.facts)}; {moved})"


def _check(change: Change, ruling: _Ruling, limit: float | None) -> Check:
    side = "rise" if change.facts.lower_is_better else "fall"
    allowed = f"{side} of at most {_size(limit, change)}" if limit is not None else f"no proven {side}"
    return Check(
        name="regression",
        metric=change.metric,
        slice="" if change.dimension == OVERALL else f"{change.dimension}={change.slice}",
        found=change.delta,
        wanted=None if limit is None else (limit if change.facts.lower_is_better else -limit),
        found_text=difference(change.delta, change.metric, change.facts),
        wanted_text=allowed,
        n=change.n_common,
        verdict=ruling.verdict,
        reason=ruling.reason,
        flagged=ruling.flagged,
    )
