"""How much of what could count did count: a mean over the samples that happened to survive is no evidence.

With a baseline, what counted there could count here. Without one, and for new samples, a sample could count
where the metric counts any other sample with the same kinds of gold label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.report.pairs import Pairs
from evalkit.report.policy import Policy
from evalkit.report.snapshot import Snapshot
from evalkit.report.wording import percentage, times

__all__ = ["Coverage", "Expected", "Ground", "coverage", "doubt"]

Mask = NDArray[np.bool_]

SLACK = 1e-9
"""Two numbers so close are the same: 0.1 + 0.2 is not over 0.3."""


class Coverage(NamedTuple):
    """`counted` samples, and `lost` ones that could have counted."""

    counted: int
    lost: int

    @property
    def share(self) -> float | None:
        """The share that counted of what could; null where nothing could."""
        whole = self.counted + self.lost
        return self.counted / whole if whole else None


class Expected(NamedTuple):
    """The base and how the run pairs with it, to know what could count."""

    base: Snapshot
    pairs: Pairs


class Ground(NamedTuple):
    """What every check of a gate stands on: the run, what could count in it, and the policy."""

    run: Snapshot
    expected: Expected | None
    policy: Policy


def coverage(run: Snapshot, metric: str, expected: Expected | None, rows: Mask | None = None) -> Coverage:
    """The coverage of a metric that the run has, over those rows of its samples or over all."""
    counted = run.samples[metric].notna().to_numpy()
    lost = _lost(run, metric, counted, expected)
    if rows is not None:
        counted, lost = counted & rows, lost & rows
    return Coverage(int(counted.sum()), int(lost.sum()))


def _lost(run: Snapshot, metric: str, counted: Mask, expected: Expected | None) -> Mask:
    could = _like_counted(run.samples["gold"], counted)
    if expected is not None and metric in expected.base.metrics:
        before = expected.pairs.base[metric].notna().to_numpy()
        could[_places(run, expected.pairs.run)] = before
    lost: Mask = could & ~counted
    return lost


def _places(run: Snapshot, paired: pd.DataFrame) -> NDArray[np.intp] | slice:
    """Where the paired samples stand in the run: everywhere, in the usual case that all are paired."""
    if paired is run.samples:
        return slice(None)
    return run.samples.index.get_indexer(pd.Index(paired.index, dtype=object))


def _like_counted(gold: pd.Series[str], counted: Mask) -> Mask:
    """Where a sample has the same kinds of label as some sample that counted."""
    kinds: Sequence[str] = gold[counted].unique().tolist()
    like: Mask = gold.isin(kinds).to_numpy()
    return like.copy()


def doubt(seen: Coverage, *, min_n: int, min_coverage: float) -> str:
    """Why a mean over so little decides nothing, in words; empty where it is enough."""
    if not seen.counted:
        return f"nothing counted, {times(seen.lost, 'sample')} could have"
    if seen.counted < min_n:
        return f"{times(seen.counted, 'sample')} counted, wanted at least {min_n}"
    share = seen.share or 0.0
    if share < min_coverage - SLACK:
        whole = seen.counted + seen.lost
        return f"coverage {percentage(share)} ({seen.counted} of {whole}), wanted at least {percentage(min_coverage)}"
    return ""
