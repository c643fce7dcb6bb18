"""One number with all that belongs to it, and the only way it is put into words.

Text, page and terminal show the same strings, so that a number reads the same wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Figure", "figures", "macro", "milliseconds", "percent", "share"]

FEW = 5
"""Below so many counted samples a number is shown greyed: it says where to look, not how it is."""

NOTHING = "–"
"""What stands where nothing was counted."""

_SECOND = 1000.0


def percent(value: float) -> str:
    """A share in 0–1 as percentage with one decimal: 0.8333 is `83.3%`."""
    return f"{100 * value:.1f}%"


def milliseconds(value: float | None, *, cut: float | None = None) -> str:
    """A duration to three figures: `412 ms`, `1.24 s`; a dash for null, `≥30.0 s` from `cut` on."""
    if value is None:
        return NOTHING
    if cut is not None and value >= cut:
        return f"≥{milliseconds(value)}"
    if round(value) < _SECOND:
        return f"{value:.0f} ms"
    return f"{value / _SECOND:.2f} s" if value < 10 * _SECOND else f"{value / _SECOND:.1f} s"


def share(part: int, whole: int) -> str:
    """A count among its whole: `17/20`."""
    return f"{part}/{whole}"


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the slices table: the mean of a metric over a slice, with its denominator and interval."""

    metric: str
    dimension: str
    slice: str
    n_total: int
    n_counted: int
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    lower_is_better: bool
    signature: str
    is_pct: bool
    worst_case: float | None

    @property
    def value(self) -> str:
        """The mean in words: a percentage, a duration, or three decimals."""
        return self.said(self.mean)

    @property
    def interval(self) -> str:
        """The 95 % interval in words: `64.0–94.8%`; a dash where there is none."""
        if self.ci_low is None or self.ci_high is None:
            return NOTHING
        return f"{self.said(self.ci_low).removesuffix('%')}–{self.said(self.ci_high)}"

    @property
    def counted(self) -> str:
        """Counted among all samples of the slice."""
        return share(self.n_counted, self.n_total)

    @property
    def bound(self) -> str:
        """The worst case in words."""
        return self.said(self.worst_case)

    @property
    def few(self) -> bool:
        """Whether too few samples were counted to lean on the number."""
        return self.n_counted < FEW

    @property
    def badness(self) -> float:
        """How bad the mean is, the worse the larger; nothing counted is worse than nothing."""
        if self.mean is None:
            return float("-inf")
        return self.mean if self.lower_is_better else -self.mean

    def said(self, value: float | None) -> str:
        """Another value of the same metric in words."""
        if value is None:
            return NOTHING
        if self.is_pct:
            return percent(value)
        return milliseconds(value) if self.metric.endswith("_ms") else f"{value:.3f}"


def figures(slices: pa.Table, *, dimension: str | None = None, metric: str | None = None) -> list[Figure]:
    """The rows of the slices table as figures, only of that dimension and metric where they are given."""
    for column, wanted in (("dimension", dimension), ("metric", metric)):
        if wanted is not None:
            slices = slices.filter(pc.equal(slices[column], pa.scalar(wanted)))
    return [Figure(**_without_run(row)) for row in slices.to_pylist()]


def _without_run(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "run_id"}


def macro(parts: Iterable[Figure]) -> tuple[float, int] | None:
    """The mean of the slices' means and how many have one: each label weighs the same, however rare."""
    means = [part.mean for part in parts if part.mean is not None]
    return (fmean(means), len(means)) if means else None
