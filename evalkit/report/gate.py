"""The gate: a run held to a policy, with three answers. It fails closed: what was not measured never passes.

PASS: all that was asked holds. REGRESSION: something is proven worse, or short of its threshold. CANNOT
DECIDE: too little was measured, or what was measured may not be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date

from evalkit.judges.certificates import Certificate, certified
from evalkit.report.compare import Comparison, compare
from evalkit.report.completeness import shortfall
from evalkit.report.coverage import SLACK, Expected, Ground, coverage
from evalkit.report.known import standing, told, without
from evalkit.report.pairs import pair
from evalkit.report.policy import Policy
from evalkit.report.regressions import regression_checks
from evalkit.report.scales import require_scale
from evalkit.report.snapshot import Snapshot
from evalkit.report.thresholds import nearest, threshold_checks
from evalkit.report.verdict import CANNOT_DECIDE, PASS, Check, Verdict, decided
from evalkit.report.verdict_rows import unpaired
from evalkit.report.wording import by_hand, drawn_together, percentage, times

__all__ = ["gate"]

_SHOWN = 5


def gate(
    run: Snapshot,
    *,
    policy: Policy,
    today: date,
    base: Snapshot | None = None,
    allow_changed_set: bool = False,
    certificates: Sequence[Certificate] = (),
) -> Verdict:
    """The verdict on a run: every check of the policy, against `base` where it asks for one.

    Known failures whose day is not before `today` are left out of both runs. With `allow_changed_set`,
    unequal eval sets compare over the cases that say the same in both, and the verdict tells so. A judge
    without one of the `certificates` decides nothing. UsageError for a limit that is off its metric's scale.
    """
    require_scale(policy, run.metrics)
    known = standing(policy.known_failures, today)
    seen = without(run, known)
    before = without(base, known) if base else None
    comparison = _comparison(before, seen, policy, allow_changed_set=allow_changed_set)
    expected = Expected(before, pair(before, seen)) if before else None
    ground = Ground(seen, expected, policy)
    checks = [*_of_the_run(ground, comparison, allow_changed_set=allow_changed_set), *_coverages(ground)]
    checks += _certified(ground, certificates)
    checks += threshold_checks(ground)
    checks += regression_checks(ground, comparison) if comparison else ()
    checks.append(_gated(checks))
    return Verdict(
        verdict=decided(checks),
        run_id=run.run_id,
        base_id=base.run_id if base else None,
        checks=tuple(checks),
        notes=(*told(run, policy.known_failures, today), *_notes(run, base, comparison)),
        comparison=comparison,
        policy=policy,
    )


def _comparison(
    base: Snapshot | None, run: Snapshot, policy: Policy, *, allow_changed_set: bool
) -> Comparison | None:
    if base is None:
        return None
    return compare(
        base,
        run,
        metrics=policy.regression,
        dimensions=policy.dimensions,
        alpha=policy.alpha,
        family_wise=True,
        allow_changed_set=allow_changed_set,
    )


def _of_the_run(ground: Ground, comparison: Comparison | None, *, allow_changed_set: bool) -> Iterator[Check]:
    """Whether the run, and the base, are such that their numbers can be believed."""
    yield _complete("run", ground.run)
    if comparison is not None and ground.expected is not None:
        yield _complete("base", ground.expected.base)
        yield _comparable(comparison, ground)
        if not comparison.refused:
            yield _rows(comparison, ground.expected.base, allowed=allow_changed_set)
    elif ground.policy.regression:
        names = ", ".join(ground.policy.regression)
        yield _doubtful(
            "comparable", 0, f"no baseline to hold {names} against; name one, or accept a run as one"
        )


def _doubtful(name: str, n: int, reason: str) -> Check:
    return Check(name=name, n=n, verdict=CANNOT_DECIDE, reason=reason)


def _complete(which: str, snap: Snapshot) -> Check:
    n = len(snap.samples)
    missing = shortfall(snap)
    reason = missing or f"all {times(n, 'sample')} are there"
    return Check(name="complete", slice=which, n=n, verdict=CANNOT_DECIDE if missing else PASS, reason=reason)


def _comparable(comparison: Comparison, ground: Ground) -> Check:
    if not comparison.refusals:
        reason = "the same eval set, metrics, versions and parameters"
        return Check(name="comparable", n=comparison.n_common, verdict=PASS, reason=reason)
    told = [
        refusal.text + ("" if refusal.metric in ("", *ground.run.metrics) else _meant(refusal.metric, ground))
        for refusal in comparison.refusals
    ]
    return _doubtful("comparable", comparison.n_common, "; ".join(told))


def _meant(metric: str, ground: Ground) -> str:
    return nearest(metric, ground.run.metrics)


def _rows(comparison: Comparison, base: Snapshot, *, allowed: bool) -> Check:
    """Whether every sample of the base is there, and says the same."""
    n, whole = comparison.n_common, len(base.samples)
    gone = [*comparison.removed, *comparison.changed]
    other = [*gone, *comparison.added]
    if allowed and other:
        parts = ", ".join(f"{len(keys)} {what}" for what, keys in unpaired(comparison).items())
        reason = f"{n} of {whole} compared; {parts}"
        return Check(name="rows", n=n, verdict=PASS, reason=reason, flagged=True)
    if gone:
        shown = ", ".join(gone[:_SHOWN]) + (", …" if len(gone) > _SHOWN else "")
        return _doubtful(
            "rows", n, f"the run has {n} of the {times(whole, 'sample')} of the base; lost: {shown}"
        )
    return Check(name="rows", n=n, verdict=PASS, reason=f"all {times(whole, 'sample')} of the base are there")


def _coverages(ground: Ground) -> Iterator[Check]:
    """For each gated metric, whether enough of what could count did."""
    floor = ground.policy.min_coverage
    for metric in dict.fromkeys([*ground.policy.thresholds, *ground.policy.regression]):
        if metric in ground.run.metrics:
            seen = coverage(ground.run, metric, ground.expected)
            share = seen.share or 0.0
            yield Check(
                name="coverage",
                metric=metric,
                found=seen.share,
                wanted=floor,
                found_text=f"{percentage(share)} ({seen.counted} of {seen.counted + seen.lost})",
                wanted_text=f"at least {percentage(floor)}",
                n=seen.counted,
                verdict=PASS if share >= floor - SLACK else CANNOT_DECIDE,
                reason=f"{times(seen.counted, 'sample')} counted, {seen.lost} lost: {percentage(share)}",
            )


def _certified(ground: Ground, certificates: Sequence[Certificate]) -> Iterator[Check]:
    """For each gated metric that a model judged, whether that judge was ever held against people."""
    for metric in dict.fromkeys([*ground.policy.thresholds, *ground.policy.regression]):
        facts = ground.run.metrics.get(metric)
        if facts is None or not facts.judge:
            continue
        proven = certified(metric, facts.judge, certificates)
        reason = f"{facts.judge} " + (
            "is certified" if proven else "has no certificate; earn one with `evalkit certify`"
        )
        verdict = PASS if proven else CANNOT_DECIDE
        yield Check(
            name="certified", metric=metric, n=len(ground.run.samples), verdict=verdict, reason=reason
        )


def _gated(checks: Sequence[Check]) -> Check:
    """Whether anything was held against anything: a gate that asks nothing lets nothing through."""
    n = sum(check.name in ("threshold", "regression") for check in checks)
    if n:
        return Check(
            name="gated", n=n, verdict=PASS, reason=f"{times(n, 'check')} of thresholds and regressions"
        )
    return _doubtful("gated", 0, "nothing is gated: no threshold and no comparison applies to this run")


def _notes(run: Snapshot, base: Snapshot | None, comparison: Comparison | None) -> Iterator[str]:
    if run.overridden:
        yield by_hand(run.overridden)
    if run.cluster:
        yield drawn_together(run.cluster)
    if base is not None and base.target != run.target:
        yield f"the base was measured on the target {base.target or 'unknown'}, the run on {run.target or 'unknown'}"
    if comparison is not None and comparison.renamed:
        yield f"{times(len(comparison.renamed), 'case')} paired by content: their ids moved"
