"""The intervals of a run on file that its sums do not tell: the scores of those slices are read back.

Where no case stands twice these are slices of few counted samples. Where cases are repeated they are all slices,
read for one metric at a time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from evalkit.report.intervals import Draws, nothing_told, told_by_sums
from evalkit.report.partial import Partial
from evalkit.report.scratch import Scratch
from evalkit.report.slice_table import OVERALL, SlicePart
from evalkit.report.text import storable

__all__ = ["slice_parts"]

Cases: TypeAlias = "NDArray[np.int64] | None"
_Pieces: TypeAlias = "dict[tuple[str, str, int], list[_Members]]"


class _Members(NamedTuple):
    """Some scores of a slice, and the rows that they are of."""

    values: NDArray[np.float64]
    rows: NDArray[np.int64]


def slice_parts(
    merged: Partial, scratch: Scratch, dimensions: Sequence[str], cases: Cases
) -> list[SlicePart]:
    """Every metric and dimension with bounds; `cases` (n,) numbers what is drawn together, where anything is."""
    parts, wanted = [], dict[tuple[str, str], dict[str, int]]()
    for name, result in merged.told.items():
        for dimension in dimensions:
            sums, proper = merged.tally(name, dimension), name in merged.proper
            told = (
                nothing_told(sums)
                if cases is not None
                else told_by_sums(sums, is_rate=result.is_rate, proper=proper)
            )
            parts.append(SlicePart(sums, told[0], result, dimension))
            missing = np.flatnonzero(~told[1]).tolist()
            wanted[name, dimension] = {storable(sums.labels[place]): place for place in missing}
    _draw(parts, {key: places for key, places in wanted.items() if places}, scratch, cases)
    return parts


def _draw(
    parts: Sequence[SlicePart],
    wanted: Mapping[tuple[str, str], Mapping[str, int]],
    scratch: Scratch,
    cases: Cases,
) -> None:
    draws, by_key = Draws(), {(part.result.name, part.dimension): part for part in parts}
    metrics = list(dict.fromkeys(metric for metric, _ in wanted))
    for names in [metrics] if cases is None else [[metric] for metric in metrics]:
        found = _read({key: places for key, places in wanted.items() if key[0] in names}, scratch)
        for (metric, dimension), places in wanted.items():
            part = by_key[metric, dimension]
            for place in places.values() if metric in names else ():
                values, rows = _joined(found[metric, dimension, place])
                numbers = None if cases is None else cases[rows]
                part.bounds[:, place] = draws.interval(values, numbers, is_rate=part.result.is_rate)


def _joined(pieces: Sequence[_Members]) -> _Members:
    empty = _Members(np.zeros(0), np.zeros(0, dtype=np.int64))
    return _Members(*(np.concatenate(columns) for columns in zip(empty, *pieces, strict=True)))


def _read(wanted: Mapping[tuple[str, str], Mapping[str, int]], scratch: Scratch) -> _Pieces:
    """The scores of the wanted slices, in the order of the run."""
    found: _Pieces = defaultdict(list)
    names = {metric for metric, _ in wanted} | {f"@labels:{dimension}" for _, dimension in wanted}
    start = 0
    for table in scratch.parts(sorted(names)):
        labels = {dimension: _labels(table, dimension) for _, dimension in wanted}
        for (metric, dimension), places in wanted.items():
            if metric in table.column_names:
                for place, members in _members(table[metric], labels[dimension], places):
                    found[metric, dimension, place].append(members._replace(rows=members.rows + start))
        start += len(table)
    return found


class _Labels(NamedTuple):
    """Pairs of a row and the code of a label that it has."""

    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    names: list[str]


def _labels(table: pa.Table, dimension: str) -> _Labels:
    if dimension == OVERALL:
        rows = np.arange(len(table))
        return _Labels(rows, np.zeros(len(rows), dtype=np.int64), [""])
    column: Any = table[f"@labels:{dimension}"].combine_chunks()
    sizes = np.diff(np.asarray(column.offsets))
    encoded = column.flatten().dictionary_encode()
    rows = np.repeat(np.arange(len(sizes)), sizes)
    return _Labels(rows, np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist())


def _members(
    scores: pa.ChunkedArray[Any], labels: _Labels, places: Mapping[str, int]
) -> Iterator[tuple[int, _Members]]:
    """The counted scores of each wanted label."""
    values = scores.to_numpy()
    place = np.array([places.get(name, -1) for name in labels.names], dtype=np.int64)[labels.codes]
    kept = (place >= 0) & ~np.isnan(values[labels.rows])
    rows, place = labels.rows[kept], place[kept]
    for number in np.unique(place).tolist():
        mine = rows[place == number]
        yield number, _Members(values[mine], mine)
