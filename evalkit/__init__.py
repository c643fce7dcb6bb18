"""evalkit measures RAG and agent customer-service systems and says what to fix next.

A run is a table of records. A metric is a score column: one number per record, or nothing where the record
does not count. Everything else — means, slices, intervals, gates, reports — is derived from that column.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.contracts import Case, EvalRecord, MetricResult, Observation
    from evalkit.records import Records, load
    from evalkit.registry import register
    from evalkit.slices import Scores, slice_mean

__all__ = [
    "Case",
    "EvalRecord",
    "MetricResult",
    "Observation",
    "Records",
    "Scores",
    "load",
    "register",
    "slice_mean",
]

__version__ = "0.1.0"

_HOMES = {
    "Case": "contracts",
    "EvalRecord": "contracts",
    "MetricResult": "contracts",
    "Observation": "contracts",
    "Records": "records",
    "Scores": "slices",
    "load": "records",
    "register": "registry",
    "slice_mean": "slices",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing evalkit costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'evalkit' has no attribute {name!r}")
    return getattr(importlib.import_module(f"evalkit.{_HOMES[name]}"), name)
