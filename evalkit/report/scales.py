"""Limits on the scale of their metric: a rate runs from 0 to 1, and 80 is no rate but somebody's per cent.

Held to 80, no run would ever reach its threshold, and every run would stay within its allowed fall.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalkit.errors import UsageError
from evalkit.report.policy import Policy
from evalkit.report.snapshot import MetricFacts

__all__ = ["require_scale"]

_CENT = 100


def require_scale(policy: Policy, metrics: Mapping[str, MetricFacts]) -> None:
    """UsageError for the first threshold or allowed fall of a rate or percentage that is not in 0–1."""
    for where, limits in _limits(policy):
        for metric, value in limits.items():
            facts = metrics.get(metric)
            if facts is not None and (facts.is_pct or facts.is_rate) and not 0 <= value <= 1:
                meant = f" (did you mean {value / _CENT:g}?)" if 1 < value <= _CENT else ""
                raise UsageError(f"{where} {metric}: found {value:g}, but rates run from 0 to 1{meant}.")


def _limits(policy: Policy) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Every table of limits, and what to call it."""
    yield "threshold", policy.thresholds
    yield "max_drop", policy.max_drop
    for dimension, labels in policy.slices.items():
        for label, limits in labels.items():
            yield f"{dimension}={label} threshold", limits.thresholds
            yield f"{dimension}={label} max_drop", limits.max_drop
