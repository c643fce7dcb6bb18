"""What a comparison counts: which samples are one case, which cases go together, and which slices they are in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.report.pairs import Pairs
from evalkit.report.snapshot import CLUSTER, TEXTS

__all__ = ["Slice", "Units", "units"]

Codes: TypeAlias = NDArray[np.intp]


class Slice(NamedTuple):
    """The cases (their numbers) that have one label of a dimension."""

    dimension: str
    label: str
    cases: Codes


class Units(NamedTuple):
    """The case of each pair (pairs,), the cluster of each case (cases,; null: each is its own), and the slices."""

    case: Codes
    cluster: Codes | None
    slices: tuple[Slice, ...]


def units(pairs: Pairs, dimensions: Sequence[str]) -> Units:
    """The units of two paired runs; labels of a dimension that baselines do not keep are those of the run."""
    case, _ = pd.factorize(pairs.base["sample_id"])
    first = np.unique(case, return_index=True)[1]
    before, after = pairs.base.iloc[first], pairs.run.iloc[first]
    cluster = pd.factorize(after[CLUSTER])[0] if CLUSTER in after else None
    slices = [
        found
        for dimension in dimensions
        for found in _slices(dimension, (before if dimension in TEXTS else after)[dimension].to_list())
    ]
    return Units(case, cluster, tuple(slices))


def _slices(dimension: str, labels: Sequence[str | Sequence[str] | None]) -> Iterator[Slice]:
    """The slices by their labels, sorted; a case without one is in none, one with several in several."""
    rows: dict[str, list[int]] = {}
    for row, found in enumerate(labels):
        for label in (found,) if isinstance(found, str) else found or ():
            rows.setdefault(label, []).append(row)
    for label in sorted(rows):
        yield Slice(dimension, label, np.array(rows[label], dtype=np.intp))
