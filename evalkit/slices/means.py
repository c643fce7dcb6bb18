"""Means that keep their denominators: overall, by both intent levels, and the score of each sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord, Mean, MetricResult
from evalkit.records import Records
from evalkit.slices.scores import RowScore, Scores, checked, marked
from evalkit.slices.tally import Tally, tally

__all__ = ["PerSample", "SliceMeans", "SlicedMeans", "scores_of", "slice_mean"]

RowFilter: TypeAlias = Callable[[EvalRecord], bool]


class PerSample(Mapping[str, "float | None"]):
    """Each sample's score by its key, null where it was not counted: a mapping over two arrays."""

    def __init__(self, keys: Sequence[str], scores: Scores) -> None:
        """The scores of the samples named by `keys`, in the same order."""
        self.keys_in_order = keys
        self.scores = scores
        self._rows: dict[str, int] = {}

    def __getitem__(self, key: str) -> float | None:
        """The score of that sample."""
        if not self._rows:
            self._rows = {name: row for row, name in enumerate(self.keys_in_order)}
        return self.scores.at(self._rows[key])

    def __iter__(self) -> Iterator[str]:
        """The keys, in the order of the records."""
        return iter(dict.fromkeys(self.keys_in_order))

    def __len__(self) -> int:
        """How many samples there are."""
        return len(set(self.keys_in_order))


class SliceMeans(Mapping[str, "Mean | None"]):
    """The mean of each slice by its label, null where nothing of it was counted."""

    def __init__(self, sums: Tally) -> None:
        """The means of a tally."""
        self.tally = sums
        self._places = {label: place for place, label in enumerate(sums.labels)}

    def __getitem__(self, label: str) -> Mean | None:
        """The mean of that slice."""
        return _mean(self.tally, self._places[label])

    def __iter__(self) -> Iterator[str]:
        """The labels, sorted."""
        return iter(self.tally.labels)

    def __len__(self) -> int:
        """How many slices there are."""
        return len(self.tally.labels)

    def __repr__(self) -> str:
        """As the dict of the same content."""
        return repr(dict(self))


def scores_of(records: Records, result: MetricResult) -> Scores:
    """The score column of a result in the order of the records, whatever mapping it keeps it in."""
    found = result.per_sample
    if isinstance(found, PerSample) and tuple(found.keys_in_order) == records.keys:
        return found.scores
    values = [found.get(key) for key in records.keys]
    counted = np.array([value is not None for value in values], dtype=np.bool_)
    return Scores(np.array([value or 0.0 for value in values], dtype=np.float64), counted)


class SlicedMeans(NamedTuple):
    """What `slice_mean` returns: the four in the middle of a MetricResult, in order."""

    overall: Mean | None
    by_intent_l1: Mapping[str, Mean | None]
    by_intent_l2: Mapping[str, Mean | None]
    per_sample: Mapping[str, float | None]


def slice_mean(
    records: Sequence[EvalRecord],
    score: RowScore | Scores,
    where: RowFilter | NDArray[np.bool_] | None = None,
) -> SlicedMeans:
    """The mean of a score overall, by intent_l1, by intent_l2, and the score of each sample.

    `score` is a function of one record (None: not counted) or the whole column; `where` a predicate or a
    boolean column (n,) that narrows what is counted: a record outside it is not even scored by a function. A
    slice in which nothing counts has the mean None. ValueError for a score that is not finite, for a column of
    another length than the records, and for marks other than true and false, 1 and 0.
    """
    table = Records.of(records)
    keep = _kept(table, where)
    scores = score if isinstance(score, Scores) else Scores.of(table, score, keep)
    if keep is not None:
        scores = scores.where(keep)
    scores = checked(table, scores)
    return SlicedMeans(
        _mean(tally(table, scores), 0),
        SliceMeans(tally(table, scores, by="intent_l1")),
        SliceMeans(tally(table, scores, by="intent_l2")),
        PerSample(table.keys, scores),
    )


def _kept(table: Records, where: RowFilter | NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    if where is None:
        return None
    if callable(where):
        return np.array([where(record) for record in table], dtype=np.bool_)
    return marked(where, len(table))


def _mean(sums: Tally, index: int) -> Mean | None:
    n_counted = int(sums.n_counted[index])
    if not n_counted:
        return None
    return Mean(float(sums.total[index]) / n_counted, n_counted, int(sums.n_total[index]))
