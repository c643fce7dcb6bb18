"""Which intent is taken for which, ranked by what mending it would win, with questions to look at."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from evalkit.report.gains import Gain, gain

__all__ = ["ErrorDirection", "Example", "examples", "ranked_directions"]

METRIC = "intent_top1"
EXAMPLES = 3
_COLUMNS = ["sample_id", "repeat", "query", "intent_l2", "intent_pred", METRIC]


class Example(NamedTuple):
    """A sample to look at: its key and its question."""

    key: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorDirection:
    """`n` of the `gold_n` samples of the intent `gold` were taken for `predicted`; null: no intent was given.

    `share` is `n` over all errors of `gold`, `gain` what mending them all would win of `intent_top1`.
    """

    gold: str
    predicted: str | None
    n: int
    gold_n: int
    share: float
    gain: Gain
    examples: tuple[Example, ...]

    @property
    def told(self) -> str:
        """The counterfactual in words."""
        given = self.predicted if self.predicted is not None else "no intent"
        return f"if {self.gold} → {given} were fixed: {self.gain.told}"


def ranked_directions(samples: pd.DataFrame) -> list[ErrorDirection]:
    """The error directions of a samples table, largest lower bound of the gain first; no errors: empty."""
    if METRIC not in samples:
        return []
    counted = samples.loc[samples[METRIC].notna(), _COLUMNS]
    found = [
        direction
        for gold, of_gold in counted.groupby("intent_l2")
        for direction in _of_one(str(gold), of_gold, whole=len(counted))
    ]
    return sorted(found, key=lambda way: (way.gain.rank, way.gold, way.predicted or ""))


def _of_one(gold: str, of_gold: pd.DataFrame, *, whole: int) -> list[ErrorDirection]:
    wrong = of_gold[of_gold[METRIC] == 0]
    return [
        _direction(gold, of_gold, way, errors=len(wrong), whole=whole)
        for _, way in wrong.groupby("intent_pred", dropna=False)
    ]


def _direction(
    gold: str, of_gold: pd.DataFrame, way: pd.DataFrame, *, errors: int, whole: int
) -> ErrorDirection:
    predicted = way["intent_pred"].iloc[0]
    lost = of_gold.index.isin(way.index).astype(np.float64)
    return ErrorDirection(
        gold=gold,
        predicted=predicted if isinstance(predicted, str) else None,
        n=len(way),
        gold_n=len(of_gold),
        share=len(way) / errors,
        gain=gain(lost, whole=whole, cases=of_gold["sample_id"]),
        examples=examples(_keys(way), way["query"]),
    )


def examples(keys: Iterable[str], queries: Iterable[str], most: int = EXAMPLES) -> tuple[Example, ...]:
    """The first samples with different questions, as many as `most`."""
    found: dict[str, Example] = {}
    for key, query in zip(keys, queries, strict=True):
        found.setdefault(query, Example(key, query))
    return tuple(found.values())[:most]


def _keys(samples: pd.DataFrame) -> list[str]:
    pairs = zip(samples["sample_id"], samples["repeat"], strict=True)
    return [f"{sample_id}#{repeat}" if repeat else sample_id for sample_id, repeat in pairs]
