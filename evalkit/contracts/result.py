"""What a metric says of a run: means that keep their denominators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

__all__ = ["Mean", "MetricResult"]


class Mean(float):
    """A mean that does not part from its denominator: `n_counted` of `n_total` samples went into it."""

    __slots__ = ("n_counted", "n_total")
    n_counted: int
    n_total: int

    def __new__(cls, value: float, n_counted: int, n_total: int) -> Self:
        """The mean `value` of `n_counted` scores among `n_total` samples."""
        mean = super().__new__(cls, value)
        mean.n_counted = n_counted
        mean.n_total = n_total
        return mean

    def __getnewargs__(self) -> tuple[float, int, int]:  # type: ignore[override]
        """What a copy, or another process, makes the same mean from."""
        return float(self), self.n_counted, self.n_total


@dataclass(frozen=True, slots=True)
class MetricResult:
    """One metric over one run: the four answers of `slice_mean`, under the metric's name.

    `overall` and the slices are null where nothing was counted. `per_sample` has one entry a sample, null
    where the sample does not count. `is_pct` only formats; `is_rate` says that every score is 0 or 1, so
    that the mean is a binomial rate; `version` changes when the definition does; `judge` names whoever judged
    the samples, where somebody did: the numbers of two judges do not compare. `params` tells the parameters
    that were set, where any were: the numbers of two settings do not compare either.
    """

    name: str
    overall: Mean | None
    by_intent_l1: Mapping[str, Mean | None]
    by_intent_l2: Mapping[str, Mean | None]
    per_sample: Mapping[str, float | None]
    is_pct: bool = False
    is_rate: bool = False
    lower_is_better: bool = False
    version: int = 1
    judge: str = ""
    params: str = ""
