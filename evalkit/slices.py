"""The one aggregator: score columns in, means with their denominators out.

A score never looks at two records at once, and a tally is a sum. Sums are exact (Shewchuk's algorithm, in
`math.fsum`), so the order of the records does not change a bit of any mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evalkit.contracts import EvalRecord, Mean, MetricResult
from evalkit.records import Groups, Records

__all__ = [
    "PerSample",
    "Scores",
    "SliceMeans",
    "SlicedMeans",
    "Tally",
    "counted_rows",
    "scores_of",
    "slice_mean",
    "tally",
]

RowScore: TypeAlias = Callable[[EvalRecord], "float | None"]
RowFilter: TypeAlias = Callable[[EvalRecord], bool]


class Scores(NamedTuple):
    """A score column: `values` (n,) float64, meaningful where `counted` (n,) bool is true."""

    values: NDArray[np.float64]
    counted: NDArray[np.bool_]

    @classmethod
    def of(
        cls, records: Sequence[EvalRecord], score: RowScore, keep: NDArray[np.bool_] | None = None
    ) -> Scores:
        """The column of a row function; a record scored None is not counted, one outside `keep` not scored."""
        asked = [True] * len(records) if keep is None else _mask(keep, len(records))
        found = [score(record) if wanted else None for record, wanted in zip(records, asked, strict=True)]
        counted = np.array([value is not None for value in found], dtype=np.bool_)
        return cls(np.array([0.0 if value is None else float(value) for value in found]), counted)

    def where(self, keep: NDArray[np.bool_]) -> Scores:
        """The same scores, counted only where `keep` is true as well."""
        n = len(self.values)
        return Scores(self.values, _mask(self.counted, n) & _mask(keep, n))


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
        row = self._rows[key]
        return float(self.scores.values[row]) if self.scores.counted[row] else None

    def __iter__(self) -> Iterator[str]:
        """The keys, in the order of the records."""
        return iter(dict.fromkeys(self.keys_in_order))

    def __len__(self) -> int:
        """How many samples there are."""
        return len(set(self.keys_in_order))


class Tally(NamedTuple):
    """Sums per slice, which add up over batches: all but `labels` have shape (slices,)."""

    labels: tuple[str, ...]
    n_total: NDArray[np.int64]
    n_counted: NDArray[np.int64]
    total: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of each slice, NaN where nothing was counted."""
        with np.errstate(invalid="ignore"):
            return self.total / np.where(self.n_counted > 0, self.n_counted, np.nan)


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


class SlicedMeans(NamedTuple):
    """What `slice_mean` returns: the four in the middle of a MetricResult, in order."""

    overall: Mean | None
    by_intent_l1: Mapping[str, Mean | None]
    by_intent_l2: Mapping[str, Mean | None]
    per_sample: Mapping[str, float | None]


def scores_of(records: Records, result: MetricResult) -> Scores:
    """The score column of a result in the order of the records, whatever mapping it keeps it in."""
    found = result.per_sample
    if isinstance(found, PerSample) and tuple(found.keys_in_order) == records.keys:
        return found.scores
    values = [found.get(key) for key in records.keys]
    counted = np.array([value is not None for value in values], dtype=np.bool_)
    return Scores(np.array([value or 0.0 for value in values], dtype=np.float64), counted)


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
    scores = _checked(table, scores)
    return SlicedMeans(
        _mean(tally(table, scores), 0),
        SliceMeans(tally(table, scores, by="intent_l1")),
        SliceMeans(tally(table, scores, by="intent_l2")),
        PerSample(table.keys, scores),
    )


def tally(records: Records, scores: Scores, *, by: str | None = None) -> Tally:
    """The sums of a score per label of the column `by`; over all records, as one slice, without it."""
    scores = _checked(records, scores)
    groups = _everything(len(records)) if by is None else records.groups(by)
    size = len(groups.labels)
    counted = scores.counted[groups.rows]
    n_total = np.bincount(groups.codes, minlength=size).astype(np.int64)
    n_counted = np.bincount(groups.codes[counted], minlength=size).astype(np.int64)
    total = _exact_sums(groups.codes[counted], scores.values[groups.rows[counted]], n_counted)
    return Tally(groups.labels, n_total, n_counted, total)


def counted_rows(records: Records, scores: Scores, *, by: str | None = None) -> list[NDArray[np.int64]]:
    """The rows that went into each mean of the tally with the same arguments, in the order of its labels."""
    groups = _everything(len(records)) if by is None else records.groups(by)
    counted = _mask(scores.counted, len(records))[groups.rows]
    codes, rows = groups.codes[counted], groups.rows[counted]
    in_order = rows[np.argsort(codes, kind="stable")]
    ends = np.cumsum(np.bincount(codes, minlength=len(groups.labels)))
    return np.split(in_order, ends)[: len(groups.labels)]


def _kept(table: Records, where: RowFilter | NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    if where is None:
        return None
    if callable(where):
        return np.array([where(record) for record in table], dtype=np.bool_)
    return _mask(where, len(table))


def _mask(marks: ArrayLike, n: int) -> NDArray[np.bool_]:
    """One true or false a record: as indices, 0 and 1 would pick the first two rows over and over."""
    found = np.asarray(marks)
    if found.shape != (n,):
        raise ValueError(f"found marks of shape {found.shape} for {n} records, wanted one each")
    if not n or found.dtype == np.bool_:
        return found.astype(np.bool_, copy=False)
    odd = [mark for mark in found.tolist() if type(mark) not in (bool, int) or mark not in (0, 1)]
    if odd:
        raise ValueError(f"found the mark {odd[0]!r}, wanted true or false, or 1 or 0, for each record")
    return found.astype(np.bool_)


def _checked(records: Records, scores: Scores) -> Scores:
    """Nothing is not zero, and it is not NaN either: one such score would hide all others."""
    if not len(records) == len(scores.values) == len(scores.counted):
        sizes = f"{len(scores.values)} scores, {len(scores.counted)} marks"
        raise ValueError(f"found {sizes} for {len(records)} records, wanted one each")
    values, counted = np.asarray(scores.values, dtype=np.float64), _mask(scores.counted, len(records))
    bad = np.flatnonzero(counted & ~np.isfinite(values))
    if len(bad):
        found = f"the score {values[bad[0]]} of sample {records.keys[bad[0]]!r}"
        raise ValueError(f"found {found}, wanted a finite number, or None where it does not count")
    return Scores(values, counted)


def _everything(n: int) -> Groups:
    rows = np.arange(n, dtype=np.int64)
    return Groups(("",), rows, np.zeros(n, dtype=np.int64))


def _exact_sums(
    codes: NDArray[np.int64], values: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The correctly rounded sum of the values of each code, whatever their order."""
    in_order = values[np.argsort(codes, kind="stable")]
    ends = np.cumsum(sizes)
    return np.array(
        [math.fsum(in_order[end - size : end]) for end, size in zip(ends, sizes, strict=True)],
        dtype=np.float64,
    )


def _mean(sums: Tally, index: int) -> Mean | None:
    n_counted = int(sums.n_counted[index])
    if not n_counted:
        return None
    return Mean(float(sums.total[index]) / n_counted, n_counted, int(sums.n_total[index]))
