"""Records and score columns as tables: samples, slices, error directions, latencies.

The slices are sums of the same columns that `samples` shows, so that each of their numbers can be had
again by grouping the one by a label and averaging.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from evalkit.metrics.intent import Confusion
from evalkit.metrics.latency import Latency
from evalkit.report.sample_table import refuse_unknown, samples
from evalkit.report.schemas import CONFUSIONS, LATENCY
from evalkit.report.slice_table import LEVELS, OVERALL, signature, slices
from evalkit.report.text import storable

__all__ = [
    "LEVELS",
    "OVERALL",
    "Tables",
    "confusions",
    "latency",
    "refuse_unknown",
    "samples",
    "signature",
    "slices",
]


class Tables(NamedTuple):
    """The four tables of one run; each is written under its own name."""

    samples: pa.Table
    slices: pa.Table
    confusions: pa.Table
    latency: pa.Table


def confusions(found: Sequence[Confusion], *, run_id: str) -> pa.Table:
    """One row an error direction (CONFUSIONS), in the given order."""
    rows = [
        {
            "run_id": storable(run_id),
            "gold": storable(pair.gold),
            "predicted": storable(pair.predicted) if pair.predicted else None,
            "n": pair.n,
            "gold_n": pair.gold_n,
            "share": pair.share,
            "keys": [storable(key) for key in pair.keys],
        }
        for pair in found
    ]
    return pa.Table.from_pylist(rows, schema=CONFUSIONS)


def latency(found: Sequence[Latency], *, run_id: str) -> pa.Table:
    """One row a timed figure (LATENCY), in the given order."""
    rows = [
        {name: storable(run_id) if name == "run_id" else getattr(figure, name) for name in LATENCY.names}
        for figure in found
    ]
    return pa.Table.from_pylist(rows, schema=LATENCY)
