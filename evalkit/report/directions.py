"""Which intent is taken for which, ranked by what mending it would win, with questions to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evalkit.contracts.record import sample_key
from evalkit.report.gains import Gain, gain

__all__ = ["ErrorDirection", "Example", "examples", "ranked_directions"]

Column: TypeAlias = NDArray[Any]

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


def ranked_directions(
    samples: pd.DataFrame, clusters: NDArray[np.int64] | None = None
) -> list[ErrorDirection]:
    """The error directions of a samples table, largest lower bound of the gain first; no errors: empty.

    Intervals draw the samples of one number in `clusters` (n,) together; without it those of a case.
    """
    if METRIC not in samples:
        return []
    drawn = samples.assign(drawn=samples["sample_id"].astype(str) if clusters is None else clusters)
    counted = drawn.loc[samples[METRIC].notna() & samples["intent_l2"].notna(), [*_COLUMNS, "drawn"]]
    columns = {name: counted[name].to_numpy(object) for name in [*_COLUMNS, "drawn"]}
    of_gold = _grouped(columns["intent_l2"], range(len(counted)))
    found = [
        direction
        for gold, rows in of_gold.items()
        for direction in _of_one(str(gold), rows, columns, whole=len(counted))
    ]
    return sorted(found, key=lambda way: (way.gain.rank, way.gold, way.predicted or ""))


def _grouped(labels: Column, rows: Iterable[int]) -> dict[str | None, list[int]]:
    found: defaultdict[str | None, list[int]] = defaultdict(list)
    for row in rows:
        label = labels[row]
        found[label if isinstance(label, str) else None].append(row)
    return found


def _of_one(
    gold: str, rows: list[int], columns: Mapping[str, Column], *, whole: int
) -> Iterator[ErrorDirection]:
    """The directions of one right label, which stands in these rows."""
    wrong = [row for row in rows if columns[METRIC][row] == 0]
    for predicted, way in _grouped(columns["intent_pred"], wrong).items():
        if predicted == gold:  # somebody set the right label wrong by hand: that leads nowhere
            continue
        keys = map(sample_key, columns["sample_id"][way], columns["repeat"][way])
        yield ErrorDirection(
            gold=gold,
            predicted=predicted,
            n=len(way),
            gold_n=len(rows),
            share=len(way) / len(wrong),
            gain=gain(np.isin(rows, way), whole=whole, cases=pd.factorize(columns["drawn"][rows])[0]),
            examples=examples(keys, columns["query"][way]),
        )


def examples(keys: Iterable[str], queries: Iterable[str], most: int = EXAMPLES) -> tuple[Example, ...]:
    """The first samples with different questions, as many as `most`."""
    found: dict[str, Example] = {}
    for key, query in zip(keys, queries, strict=True):
        found.setdefault(query, Example(key, query))
    return tuple(found.values())[:most]
