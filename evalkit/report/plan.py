"""Which cases to write next: how many each intent needs before its number can be leant on.

The rate of an intent is taken as the centre of its Wilson interval, so that 3 right of 3 is not planned for
as if it were always right, and an intent without any case as if it were right half the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from evalkit.cases import Taxonomy, near_duplicates
from evalkit.contracts import Case
from evalkit.errors import UsageError
from evalkit.planning import cases_for_width, detectable_difference
from evalkit.report.change import FEWEST
from evalkit.report.directions import METRIC
from evalkit.stats import wilson

__all__ = ["Border", "Plan", "PlanRow", "plan_of_cases", "plan_of_run"]

WIDTH = 0.2
ALIKE = 0.4
"""Questions of two intents that share so much of their bigrams are taken to be easily confused."""

TWICE = 2
"""One error does not make a border between two intents."""


class Border(NamedTuple):
    """Two intents that are hard to tell apart: `n` samples taken for the other, or questions alike."""

    first: str
    second: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRow:
    """What an intent has and needs: `cases` of its `wanted` are there, `right` of them (null: never run).

    `rate` is the centre of the Wilson interval, `width` that interval's width now; with `wanted` cases it is no
    wider than was asked. `detectable` is the smallest difference between two runs that the cases there show 4
    times in 5 (null: none), if cases come out independently in both. `neighbour` is the intent that it is
    most confused with, `confused` how often.
    """

    intent_l1: str | None
    intent_l2: str
    cases: int
    right: float | None
    rate: float
    width: float
    wanted: int
    detectable: float | None
    neighbour: str | None
    confused: int

    @property
    def missing(self) -> int:
        """How many cases to write."""
        return max(0, self.wanted - self.cases)


@dataclass(frozen=True, slots=True)
class Plan:
    """The rows, intents that are easily confused first, then those that lack most; and their borders.

    `width` is what was asked for, `cases` how many there are in all, `detectable` the smallest difference
    that all of them together show. `measured`: rates and borders are what a run answered; else nobody knows, each
    intent is taken as right half the time, and borders are questions that read alike.
    """

    width: float
    rows: tuple[PlanRow, ...]
    borders: tuple[Border, ...]
    cases: int
    detectable: float | None
    measured: bool

    @property
    def missing(self) -> int:
        """How many cases to write in all."""
        return sum(row.missing for row in self.rows)


class _Seen(NamedTuple):
    """What is known of an intent: its cases, and how many were right; null where none was counted."""

    parent: str | None
    cases: int
    right: float | None


def plan_of_run(samples: pd.DataFrame, *, width: float = WIDTH, taxonomy: Taxonomy | None = None) -> Plan:
    """The plan by a run's samples table: rates and confusions are those of `intent_top1`.

    The intents of the taxonomy that no case has are in it too. UsageError for a width not between 0 and 1.
    """
    scores = samples[METRIC] if METRIC in samples else pd.Series(float("nan"), index=samples.index)
    counted = samples.assign(score=scores)[scores.notna()]
    cases = counted.groupby(["intent_l2", "sample_id"]).agg(
        score=("score", "mean"), parent=("intent_l1", "first")
    )
    seen = {
        str(label): _Seen(_text(part["parent"].iloc[0]), len(part), float(part["score"].sum()))
        for label, part in cases.groupby(level=0)
    }
    for label, part in samples[samples["intent_l2"].notna()].groupby("intent_l2"):
        seen.setdefault(str(label), _Seen(_text(part["intent_l1"].iloc[0]), 0, None))
    wrong = counted[(counted["score"] == 0) & counted["intent_pred"].notna()]
    ways = Counter(_sorted(*pair) for pair in zip(wrong["intent_l2"], wrong["intent_pred"], strict=True))
    borders = Counter({pair: n for pair, n in ways.items() if n >= TWICE})
    return _plan(seen, borders, width, taxonomy, measured=True)


def plan_of_cases(cases: Sequence[Case], *, width: float = WIDTH, taxonomy: Taxonomy | None = None) -> Plan:
    """The plan of an eval set that was never run; intents border where their questions read alike."""
    labelled = [case for case in cases if case.intent_l2]
    counts = Counter(case.intent_l2 for case in labelled)
    parents = {case.intent_l2: case.intent_l1 for case in labelled}
    seen = {str(label): _Seen(parents[label], n, None) for label, n in counts.items()}
    pairs = near_duplicates(["\n".join(case.user_turns) for case in labelled], threshold=ALIKE)
    ways = Counter(
        _sorted(str(labelled[pair.first].intent_l2), str(labelled[pair.second].intent_l2)) for pair in pairs
    )
    return _plan(seen, ways, width, taxonomy, measured=False)


def _plan(
    seen: dict[str, _Seen],
    ways: Mapping[tuple[str, str], int],
    width: float,
    taxonomy: Taxonomy | None,
    *,
    measured: bool,
) -> Plan:
    if not 0 < width < 1:
        raise UsageError(f"width: found {width}, wanted a width between 0 and 1, such as 0.2.")
    for intent in taxonomy.intents if taxonomy else ():
        seen.setdefault(intent.intent_l2, _Seen(intent.intent_l1, 0, None))
    borders = sorted(
        (Border(*pair, n) for pair, n in ways.items() if pair[0] != pair[1]),
        key=lambda border: (-border.n, border.first, border.second),
    )
    rows = [_row(label, found, _nearest(label, borders), width) for label, found in seen.items()]
    order = _order(borders)
    rows.sort(key=lambda row: (order.get(row.intent_l2, len(order)), -row.missing, row.intent_l2))
    total = sum(row.cases for row in rows)
    spread = sum(row.cases * 2 * row.rate * (1 - row.rate) for row in rows) / max(total, 1)
    return Plan(width, tuple(rows), tuple(borders), total, _detectable(total, spread), measured)


def _row(label: str, seen: _Seen, border: Border | None, width: float) -> PlanRow:
    low, high = _interval(seen)
    rate = (low + high) / 2
    other = None if border is None else border.second if border.first == label else border.first
    return PlanRow(
        intent_l1=seen.parent,
        intent_l2=label,
        cases=seen.cases,
        right=seen.right,
        rate=rate,
        width=high - low,
        wanted=cases_for_width(rate, width),
        detectable=_detectable(seen.cases, 2 * rate * (1 - rate)),
        neighbour=other,
        confused=border.n if border else 0,
    )


def _interval(seen: _Seen) -> tuple[float, float]:
    """The Wilson interval of the rate, as if half were right where nobody knows; all is possible without cases."""
    if not seen.cases:
        return 0.0, 1.0
    interval = wilson(seen.cases / 2 if seen.right is None else seen.right, seen.cases)
    return float(interval.low), float(interval.high)


def _detectable(cases: int, spread: float) -> float | None:
    known = detectable_difference(cases, discordant=spread)
    if known is None:
        return None
    least = max(known, FEWEST / cases)
    return least if least <= 1 else None


def _nearest(label: str, borders: Iterable[Border]) -> Border | None:
    return next((border for border in borders if label in border[:2]), None)


def _order(borders: Iterable[Border]) -> dict[str, int]:
    """The place of each intent that borders on another: both sides of the most confused border first."""
    order: dict[str, int] = {}
    for border in borders:
        for label in border[:2]:
            order.setdefault(label, len(order))
    return order


def _sorted(one: str, other: str) -> tuple[str, str]:
    return (one, other) if one < other else (other, one)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
