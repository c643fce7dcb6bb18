"""The tree of intents as a list of what to fix first: every row with all that is needed to believe it.

A row loses what its samples lack to a full score. It is ranked by the lower bound of its recoverable points,
beyond what chance explains where it is worse than the rest, and says how likely chance alone made it so.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.errors import UnknownName, UsageError
from evalkit.report.digest import Digest
from evalkit.report.directions import METRIC, ErrorDirection, ranked_directions
from evalkit.report.excess import Excess, excess
from evalkit.report.gains import Gain, gain
from evalkit.report.significance import worse_than_rest
from evalkit.stats import benjamini_hochberg, mean_interval

__all__ = ["IntentTree", "Level", "TreeBranch", "TreeRow", "intent_tree", "recoverable"]

Level = Literal["intent_l1", "intent_l2"]
Floats: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.intp]

_COLUMNS = ("sample_id", "repeat", "query", "intent_l1", "intent_l2", "intent_pred", METRIC)


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """One intent of either level: `n_counted` of its `n_total` samples lose `errors` in all.

    `mean` with its 95 % interval is the metric's; null where nothing was counted. `gain` is what mending all
    its errors would win overall, `excess` what it loses beyond what chance explains. `p` says how likely chance
    made it so much worse than all other samples (null without any), `q` is Benjamini–Hochberg over the rows of
    its level. `direction` is where most of its
    intent errors go and `direction_share` their share of them; null without errors.
    """

    level: Level
    label: str
    n_total: int
    n_counted: int
    errors: float
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    gain: Gain
    excess: Excess
    p: float | None
    q: float | None = None
    direction: ErrorDirection | None = None
    direction_share: float | None = None

    @property
    def coverage(self) -> float:
        """The share of its samples that were counted."""
        return self.n_counted / self.n_total


@dataclass(frozen=True, slots=True)
class TreeBranch:
    """A first-level intent and the second-level ones under it; `top` is null for those under none."""

    top: TreeRow | None
    leaves: tuple[TreeRow, ...]


@dataclass(frozen=True, slots=True)
class IntentTree:
    """The branches of a metric, first to fix first; `mean` of `n_counted` of `n_total` samples overall.

    `directions` are the error directions of the run's intents, whatever the metric.
    """

    metric: str
    n_total: int
    n_counted: int
    mean: float | None
    branches: tuple[TreeBranch, ...]
    directions: tuple[ErrorDirection, ...]

    @property
    def tops(self) -> list[TreeRow]:
        """The first-level intents, first to fix first."""
        return [branch.top for branch in self.branches if branch.top is not None]

    @property
    def leaves(self) -> list[TreeRow]:
        """The second-level intents of all branches, first to fix first."""
        return sorted((row for branch in self.branches for row in branch.leaves), key=_rank)


def recoverable(digest: Digest, metric: str | None) -> bool:
    """Whether the metric's scores lie between 0 and 1, so that a share of them can be won back; null: no."""
    if metric is None:
        return False
    return bool(digest.tables.samples[metric].to_pandas().dropna().between(0, 1).all())


def intent_tree(digest: Digest, *, metric: str) -> IntentTree:
    """The tree by `metric`.

    A label that stands under two first-level labels is put under the one that it has most often. UnknownName
    for a metric that the run does not have, UsageError for one whose scores do not lie between 0 and 1.
    """
    samples = _with_losses(digest, metric)
    ways = ranked_directions(samples, digest.clusters)
    tops = {row.label: row for row in _rows(samples, "intent_l1", metric, ways)}
    above = _above(samples)
    under: dict[str | None, list[TreeRow]] = {label: [] for label in tops}
    for row in _rows(samples, "intent_l2", metric, ways):
        under.setdefault(above.get(row.label), []).append(row)
    branches = tuple(TreeBranch(tops.get(label or ""), tuple(rows)) for label, rows in under.items())
    lost = samples["lost"].dropna()
    return IntentTree(
        metric, len(samples), len(lost), _mean(samples[metric].dropna().to_numpy()), branches, tuple(ways)
    )


def _with_losses(digest: Digest, metric: str) -> pd.DataFrame:
    """The samples with the column `lost`: what each counted sample lacks to a full score."""
    results = {result.name: result for result in digest.run.results}
    if metric not in results:
        raise UnknownName("metric", metric, results)
    if not recoverable(digest, metric):
        raise UsageError(
            f"metric {metric!r}: found scores outside 0–1, wanted a metric of which a share can be won back; "
            "`evalkit worst` ranks by any metric."
        )
    wanted = [
        name for name in dict.fromkeys((*_COLUMNS, metric)) if name in digest.tables.samples.column_names
    ]
    samples: pd.DataFrame = digest.tables.samples.select(wanted).to_pandas()
    scores = samples[metric]
    return samples.assign(
        lost=scores if results[metric].lower_is_better else 1 - scores,
        case=digest.clusters,
    )


def _rows(samples: pd.DataFrame, level: Level, metric: str, ways: Sequence[ErrorDirection]) -> list[TreeRow]:
    """The rows of a level with their q values, first to fix first."""
    codes, labels = pd.factorize(samples[level])
    found = _Columns(
        samples[metric].to_numpy(), samples["lost"].to_numpy(), samples["case"].to_numpy(), codes
    )
    cases = _by_case(found)
    rows = [_row(found, cases, code=code, level=level, label=str(label)) for code, label in enumerate(labels)]
    return sorted(_directed(_adjusted(rows), samples, ways), key=_rank)


class _Columns(NamedTuple):
    """Score, loss (NaN: not counted), case and label (-1: none) of each sample, all (n,)."""

    score: Floats
    lost: Floats
    case: Codes
    label: Codes


def _by_case(found: _Columns) -> _Columns:
    """The mean loss of each case that counts, with its label: repeats of a case are one case to a test."""
    counted = ~np.isnan(found.lost)
    cases, first, place = np.unique(found.case[counted], return_index=True, return_inverse=True)
    n = np.bincount(place, minlength=len(cases))
    lost = np.bincount(place, weights=found.lost[counted], minlength=len(cases)) / n
    return _Columns(1 - lost, lost, cases, found.label[counted][first])


def _row(found: _Columns, cases: _Columns, *, code: int, level: Level, label: str) -> TreeRow:
    mine = found.label == code
    counted = mine & ~np.isnan(found.lost)
    scores, lost, clusters = found.score[counted], found.lost[counted], found.case[counted]
    is_rate = bool(np.all((scores == 0) | (scores == 1)))
    low, high = mean_interval(scores, is_rate=is_rate, clusters=clusters)
    inside = cases.label == code
    whole = int(np.count_nonzero(~np.isnan(found.lost)))
    return TreeRow(
        level=level,
        label=label,
        n_total=int(mine.sum()),
        n_counted=len(scores),
        errors=math.fsum(lost),
        mean=_mean(scores),
        ci_low=low,
        ci_high=high,
        gain=gain(lost, whole=whole, cases=clusters),
        excess=excess(cases.lost[inside], cases.lost[~inside], share=len(scores) / whole if whole else 0.0),
        p=worse_than_rest(cases.lost[inside], cases.lost[~inside]),
    )


def _mean(scores: Floats) -> float | None:
    """The correctly rounded mean, to the bit that of the slices table."""
    return math.fsum(scores) / len(scores) if len(scores) else None


def _adjusted(rows: Sequence[TreeRow]) -> list[TreeRow]:
    tested = [row.p for row in rows if row.p is not None]
    q = iter(benjamini_hochberg(tested).tolist())
    return [row if row.p is None else replace(row, q=next(q)) for row in rows]


def _directed(
    rows: Sequence[TreeRow], samples: pd.DataFrame, ways: Sequence[ErrorDirection]
) -> Iterator[TreeRow]:
    """The rows with the direction that most of their intent errors take."""
    above = _above(samples)
    of_row: defaultdict[tuple[str, str | None], list[ErrorDirection]] = defaultdict(list)
    for way in ways:
        of_row["intent_l2", way.gold].append(way)
        of_row["intent_l1", above.get(way.gold)].append(way)
    for row in rows:
        mine = of_row[row.level, row.label]
        errors = sum(way.n for way in mine)
        most = max(mine, key=lambda way: way.n, default=None)
        yield replace(row, direction=most, direction_share=most.n / errors) if most else row


def _above(samples: pd.DataFrame) -> dict[str, str | None]:
    """The first-level label that each second-level label has most often."""
    pairs = Counter(zip(samples["intent_l2"], samples["intent_l1"], strict=True))
    above: dict[str, str | None] = {}
    for (label, parent), _ in pairs.most_common():
        if label is not None:
            above.setdefault(label, parent)
    return above


def _rank(row: TreeRow) -> tuple[tuple[float, float], tuple[float, float], str]:
    return row.excess.rank, row.gain.rank, row.label
