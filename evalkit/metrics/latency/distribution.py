"""The distribution of each latency, over records that are here or that come in pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.metrics.latency.scores import LATENCIES, observations
from evalkit.records import Records, RecordsLike
from evalkit.slices.exact import Cells, rounded, totals
from evalkit.stats import Ranked, nearest_place

__all__ = ["Latency", "Observed", "distributions", "quantiles"]

_Column = NDArray[np.float64]
Observed: TypeAlias = Mapping[str, tuple[_Column, _Column]]
"""As `observations` of some records."""

_QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


class Latency(NamedTuple):
    """The distribution of one latency in ms: `n_total` = `n_counted` + `n_missing` + `n_censored` records.

    `mean` is over the counted ones. The rest is over these and the censored ones, which a deadline cut off:
    each stands at the moment of its cut, so that a value from `censored_at` (the first of these) on means "at
    least". Percentiles are observations (nearest rank), null where there are too few: p90 needs 10, p95 20,
    p99 100. A value that falls on a cut of unknown moment is null.
    """

    name: str
    n_total: int
    n_counted: int
    n_missing: int
    n_censored: int
    mean: float | None
    min: float | None
    p50: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    max: float | None
    censored_at: float | None


def quantiles(records: RecordsLike) -> list[Latency]:
    """The distribution of each latency of `compute`, the answers that a deadline cut off included.

    A run with a rate has `ttft_from_schedule_ms` and `total_from_schedule_ms` besides: from the moment a case was
    due, so that what a stalled target kept from being sent is not left out (coordinated omission).
    """
    table = Records.of(records)
    observed = observations(table)
    return distributions(lambda: [observed], n=len(table))


def distributions(pieces: Callable[[], Iterable[Observed]], *, n: int) -> list[Latency]:
    """As `quantiles`, of `n` records whose observations come in pieces, twice.

    A latency that a piece does not have is missing in its records; one that no piece has is left out.
    """
    found: dict[str, _Distribution] = {}
    for piece in pieces():
        for name, observed in piece.items():
            found.setdefault(name, _Distribution()).count(*observed)
    for each in found.values():
        each.ranked.want(each.places.values())
    for piece in pieces():
        for name, observed in piece.items():
            found[name].ranked.keep(_known(np.concatenate(observed)))
    return [found[name].told(name, n) for name in LATENCIES if name in found]


class _Distribution:
    """What is kept of one latency."""

    def __init__(self) -> None:
        self.ranked = Ranked()
        self._counted, self._total, self._first_cut = 0, 0, math.inf

    def count(self, values: _Column, cuts: _Column) -> None:
        counted, censored = _known(values), _known(cuts)
        nowhere = np.zeros(len(counted), dtype=np.int64)
        self._counted += len(counted)
        self._total += totals(counted, Cells(nowhere, np.arange(len(counted)), None, 1))[0]
        self._first_cut = min(self._first_cut, censored.min(initial=math.inf))
        self.ranked.count(np.concatenate((counted, censored)))

    @property
    def places(self) -> dict[str, int]:
        """Where the observations stand that are told."""
        n = self.ranked.n
        known = {name: nearest_place(n, q) for name, q in _QUANTILES.items()}
        ends = {"min": 0, "max": n - 1} if n else {}
        return ends | {name: place for name, place in known.items() if place is not None}

    def told(self, name: str, n: int) -> Latency:
        observed = {what: self.ranked.at(place) for what, place in self.places.items()}
        told = {what: _finite(observed.get(what, math.inf)) for what in ("min", *_QUANTILES, "max")}
        return Latency(
            name,
            n_total=n,
            n_counted=self._counted,
            n_missing=n - self.ranked.n,
            n_censored=self.ranked.n - self._counted,
            mean=float(rounded([self._total])[0]) / self._counted if self._counted else None,
            **told,
            censored_at=_finite(self._first_cut),
        )


def _known(values: _Column) -> _Column:
    return values[~np.isnan(values)]


def _finite(value: float) -> float | None:
    """The value, null where a sample stands there that was cut off at an unknown moment, or none."""
    return float(value) if math.isfinite(value) else None
