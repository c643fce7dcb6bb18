"""How long it took, in milliseconds; counted only where the channel did what was asked of it.

A moment that never came is null and is counted as missing. One that a deadline cut off is known to be later
than that, and quantiles say so: leaving the slowest out would flatter the rest.
"""

from __future__ import annotations

from evalkit.metrics.latency.distribution import Latency, Observed, distributions, quantiles
from evalkit.metrics.latency.scores import LATENCIES, compute, observations

__all__ = ["LATENCIES", "Latency", "Observed", "compute", "distributions", "observations", "quantiles"]
