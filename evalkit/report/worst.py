"""Where a metric is worst, and which way the errors go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from evalkit.errors import UnknownName
from evalkit.report.figures import Figure, figures
from evalkit.report.tables import LEVELS

__all__ = ["Direction", "WorstRow", "directions", "worst"]


@dataclass(frozen=True, slots=True)
class Direction:
    """Where the errors of a label mostly go: `n` of its `errors` to `predicted`; null: no label at all."""

    predicted: str | None
    n: int
    errors: int

    @property
    def portion(self) -> str:
        """The part of the errors that goes this way."""
        return f"{self.n} of {self.errors}"


@dataclass(frozen=True, slots=True)
class WorstRow:
    """One slice in the ranking: its figure, the usual error direction, and what there is to win.

    `recoverable` is how far the overall mean would move if every error of the slice were mended; null for
    what is no percentage. `direction` is null where the slice is no intent or has no error.
    """

    figure: Figure
    direction: Direction | None
    recoverable: float | None


def worst(slices: pa.Table, confusions: pa.Table, *, by: str, metric: str) -> list[WorstRow]:
    """The slices of dimension `by`, worst mean of `metric` first, then those with more samples.

    Slices in which nothing was counted stand last; no label, no row. UnknownName where the table has no such metric or
    dimension.
    """
    _require(metric, "metric", slices)
    if by not in LEVELS:
        _require(by, "dimension", slices)
    (overall,) = figures(slices, dimension="overall", metric=metric)
    ways = directions(confusions) if by == "intent_l2" and metric.startswith("intent") else {}
    rows = figures(slices, dimension=by, metric=metric)
    rows.sort(key=lambda figure: (-figure.badness, -figure.n_counted, figure.slice))
    return [WorstRow(row, ways.get(row.slice), _recoverable(row, overall)) for row in rows]


def _require(wanted: str, column: str, slices: pa.Table) -> None:
    known = [str(name) for name in slices[column].unique().to_pylist()]
    if wanted not in known:
        raise UnknownName(column, wanted, known)


def _recoverable(figure: Figure, overall: Figure) -> float | None:
    if figure.mean is None or not figure.is_pct or not overall.n_counted:
        return None
    lost = figure.mean if figure.lower_is_better else 1 - figure.mean
    return lost * figure.n_counted / overall.n_counted


def directions(confusions: pa.Table) -> Mapping[str, Direction]:
    """For each right label with errors, the wrong label that takes most of them."""
    found: dict[str, Direction] = {}
    errors: dict[str, int] = {}
    for row in confusions.to_pylist():
        gold, n = row["gold"], row["n"]
        errors[gold] = errors.get(gold, 0) + n
        if gold not in found or n > found[gold].n:
            found[gold] = Direction(row["predicted"], n, 0)
    return {gold: Direction(way.predicted, way.n, errors[gold]) for gold, way in found.items()}
