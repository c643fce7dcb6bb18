"""The headline of a verdict: regressions first, up to three checks, and never without what decided it."""

from __future__ import annotations

import pytest

from evalkit.report.policy import Policy
from evalkit.report.verdict import Check, Verdict, decided


def verdict_of(*names: str) -> Verdict:
    """A verdict of checks: `R` is a regression, `D` a doubt, `I` an incomplete run; each numbered by place."""
    kinds = {
        "R": ("threshold", "REGRESSION"),
        "D": ("coverage", "CANNOT DECIDE"),
        "I": ("complete", "CANNOT DECIDE"),
    }
    checks = tuple(
        Check(name=kinds[name][0], metric=f"m{place}", n=1, verdict=kinds[name][1], reason="so")
        for place, name in enumerate(names)
    )
    return Verdict(
        verdict=decided(checks),
        run_id="r",
        base_id=None,
        checks=checks,
        notes=(),
        comparison=None,
        policy=Policy(),
    )


@pytest.mark.parametrize(
    ("names", "headline"),
    [
        pytest.param("R", "REGRESSION: threshold m0: so", id="one"),
        pytest.param(
            "DR", "REGRESSION: threshold m1: so; CANNOT DECIDE coverage m0: so", id="a regression first"
        ),
        pytest.param(
            "DRRRR",
            "REGRESSION: threshold m1: so; threshold m2: so; threshold m3: so (and 2 more)",
            id="three at most",
        ),
        pytest.param(
            "IR",
            "CANNOT DECIDE: REGRESSION threshold m1: so; complete m0: so",
            id="an incomplete run decides",
        ),
        pytest.param(
            "DRRRI",
            "CANNOT DECIDE: REGRESSION threshold m1: so; REGRESSION threshold m2: so; complete m4: so (and 2 more)",
            id="what decided is always named",
        ),
        pytest.param(
            "DI", "CANNOT DECIDE: complete m1: so; coverage m0: so", id="the run before its metrics"
        ),
    ],
)
def test_the_headline_names_regressions_first(names: str, headline: str) -> None:
    assert verdict_of(*names).headline == headline
