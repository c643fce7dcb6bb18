"""Limits stand on the scale of their metric, or they are refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from evalkit.errors import UsageError
from evalkit.report.policy import Policy
from evalkit.report.scales import require_scale
from evalkit.report.snapshot import MetricFacts

MakeFacts = Callable[..., MetricFacts]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        pytest.param(80, "found 80, but rates run from 0 to 1 (did you mean 0.8?).", id="per cent"),
        pytest.param(800, "found 800, but rates run from 0 to 1.", id="beyond per cent"),
        pytest.param(-0.1, "found -0.1, but rates run from 0 to 1.", id="below"),
    ],
)
def test_a_rate_is_held_to_0_to_1(make_facts: MakeFacts, value: float, told: str) -> None:
    with pytest.raises(UsageError) as error:
        require_scale(Policy(thresholds={"a": value}), {"a": make_facts("a")})
    assert str(error.value) == f"threshold a: {told}"


@pytest.mark.parametrize("value", [0, 0.8, 1])
def test_both_ends_are_rates(make_facts: MakeFacts, value: float) -> None:
    require_scale(Policy(thresholds={"a": value}), {"a": make_facts("a")})


def test_times_and_unknown_metrics_have_any_limit(make_facts: MakeFacts) -> None:
    facts = make_facts("total_ms", is_rate=False, is_pct=False, lower_is_better=True)
    require_scale(Policy(thresholds={"total_ms": 2000, "unknown": 80}), {"total_ms": facts})
