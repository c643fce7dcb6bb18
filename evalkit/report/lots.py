"""Rows by the clusters that they are drawn with, added up part by part.

A row whose cluster has no other is counted by what it loses, however many there are; of the others the number of
the cluster is kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from evalkit.stats import Urn, urn_of_kinds

__all__ = ["ALONE", "AtRisk", "Lots", "numbered", "total", "urn"]

ALONE = -1
"""The number of a cluster of one row."""

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Lots:
    """Rows with what each loses: of those that are `alone` how many lose how much, of the others `clusters` and `losses`."""

    alone: Counter[float] = field(default_factory=Counter)
    clusters: array[int] = field(default_factory=lambda: array("q"))
    losses: array[float] = field(default_factory=lambda: array("d"))

    @classmethod
    def of(cls, losses: Floats, clusters: Whole) -> Lots:
        """The rows with these losses and clusters (n,)."""
        alone = clusters == ALONE
        counts = zip(*(found.tolist() for found in np.unique(losses[alone], return_counts=True)), strict=True)
        rest = array("q", clusters[~alone].tolist()), array("d", losses[~alone].tolist())
        return cls(Counter(dict(counts)), *rest)

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.alone.total() + len(self.clusters)

    @property
    def whole(self) -> bool:
        """Whether each row loses all or nothing."""
        return {*self.alone, *self.losses} <= {0.0, 1.0}

    def plus(self, other: Lots) -> Lots:
        """These rows and those."""
        return Lots(
            self.alone + other.alone,
            self.clusters + other.clusters,
            self.losses + other.losses,
        )


@dataclass(frozen=True, slots=True)
class AtRisk:
    """Rows that lose nothing by themselves: how many are `alone`, and the clusters of the others."""

    alone: int
    clusters: Whole

    @property
    def n(self) -> int:
        """How many rows there are."""
        return self.alone + len(self.clusters)

    def less(self, other: AtRisk) -> AtRisk:
        """These rows without those, which are among them."""
        found, n = np.unique(self.clusters, return_counts=True)
        np.subtract.at(n, np.searchsorted(found, other.clusters), 1)
        return AtRisk(self.alone - other.alone, np.repeat(found, n))


def numbered(clusters: Whole) -> Whole:
    """The clusters (n,), those of one row as ALONE."""
    _, place, n = np.unique(clusters, return_inverse=True, return_counts=True)
    return np.where(n[place] > 1, clusters, ALONE)


def total(*lots: Lots) -> float:
    """What all the rows lose, correctly rounded."""
    counts: Counter[float] = Counter()
    for each in lots:
        counts.update(each.alone)
        counts.update(each.losses)
    return float(sum((Fraction(loss) * n for loss, n in counts.items()), Fraction(0)))


def urn(at_risk: AtRisk, inside: Lots, outside: Lots) -> Urn:
    """What an interval is drawn from: the rows `at_risk`, among which those `inside` lose something, and those `outside`."""
    alone = inside.alone + outside.alone
    alone[0.0] += at_risk.alone - inside.alone.total()
    kinds = {loss: n for loss, n in alone.items() if n}
    sums, sizes = _by_cluster(at_risk, inside, outside)
    return urn_of_kinds(
        np.concatenate([np.array([*kinds], dtype=np.float64), sums]),
        np.concatenate([np.ones(len(kinds)), sizes]),
        np.concatenate([np.array([*kinds.values()], dtype=np.int64), np.ones(len(sums), dtype=np.int64)]),
    )


def _by_cluster(at_risk: AtRisk, inside: Lots, outside: Lots) -> tuple[Floats, Floats]:
    """What the clusters of several rows lose, and how many of their rows are at risk."""
    found, sizes = np.unique(np.concatenate([at_risk.clusters, outside.clusters]), return_counts=True)
    lost = np.searchsorted(found, np.concatenate([inside.clusters, outside.clusters]))
    losses = np.concatenate([inside.losses, outside.losses])
    return np.bincount(lost, losses, len(found)).astype(np.float64), sizes.astype(np.float64)
