"""Scores that people set by hand: columns `<metric>_manual` of a table of samples, read back into the metrics.

A cell that is filled in stands in place of the measured score; everything computed from the column follows.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from evalkit.contracts import MetricResult
from evalkit.contracts.record import sample_key
from evalkit.errors import BadData, Fault, NoInput, UnknownName
from evalkit.records import Records
from evalkit.slices import Scores, slice_mean

__all__ = ["Manual", "overridden", "put", "read_manual", "refuse_unknown"]

Manual = Mapping[str, Mapping[str, "float | None"]]
"""By metric, by sample key: the score that somebody set; null where the sample is not to count."""

_SUFFIX = "_manual"
_WORDS = {"true": 1.0, "false": 0.0, "null": None}


def read_manual(path: Path) -> dict[str, dict[str, float | None]]:
    """The cells filled in under `<metric>_manual`, by metric and sample key.

    The file is CSV with a column `sample_id`, and `repeat` where cases were repeated; other columns do not
    matter. A cell is a number, `true`, `false`, or `null` for a sample that is not to count; an empty one
    overrides nothing. Raises NoInput without the file, BadData naming each cell that is none of these.
    """
    faults: list[Fault] = []
    found: dict[str, dict[str, float | None]] = {}
    for line, row in _rows(path):
        for column, cell in row.items():
            if not column.endswith(_SUFFIX) or not cell.strip():
                continue
            score = _score(cell)
            if isinstance(score, str):
                faults.append(Fault(str(path), line, column, score, "a number, true, false or null"))
            else:
                found.setdefault(column.removesuffix(_SUFFIX), {})[_key(row)] = score
    if faults:
        raise BadData(faults)
    return found


def overridden(
    records: Records, results: Sequence[MetricResult], manual: Manual
) -> tuple[list[MetricResult], dict[str, int]]:
    """The results with the scores set by hand, and how many of each metric were; raises as `refuse_unknown`."""
    refuse_unknown(manual, [result.name for result in results], records.keys)
    return put(records, results, manual)


def refuse_unknown(manual: Manual, metrics: Sequence[str], keys: Sequence[str]) -> None:
    """UnknownName for a score of a metric that was not measured, or of a sample that the run has not."""
    known = set(keys)
    for name, cells in manual.items():
        if name not in metrics:
            raise UnknownName("metric", name, metrics)
        for key in cells:
            if key not in known:
                raise UnknownName("sample", key, keys)


def put(
    records: Records, results: Sequence[MetricResult], manual: Manual
) -> tuple[list[MetricResult], dict[str, int]]:
    """The results with those of the scores set by hand that are of these records, and how many of each metric are.

    A metric that was measured in other records of the run only has a result that holds these scores and no more.
    """
    mine = {name: {key: cells[key] for key in records.keys if key in cells} for name, cells in manual.items()}
    counts = {name: len(cells) for name, cells in mine.items() if cells}
    there = {result.name for result in results}
    empty = Scores(nothing := np.zeros(len(records)), nothing.astype(np.bool_))
    others = [
        MetricResult(name, *slice_mean(records, empty), is_rate=True) for name in counts if name not in there
    ]
    return [_set(records, result, mine.get(result.name, {})) for result in (*results, *others)], counts


def _set(records: Records, result: MetricResult, cells: Mapping[str, float | None]) -> MetricResult:
    if not cells:
        return result
    scores = {**result.per_sample, **cells}
    values = [scores.get(key) for key in records.keys]
    counted = np.array([value is not None for value in values], dtype=np.bool_)
    column = Scores(np.array([0.0 if value is None else value for value in values]), counted)
    means = slice_mean(records, column)
    is_rate = result.is_rate and all(value in (0.0, 1.0, None) for value in values)
    return replace(result, **means._asdict(), is_rate=is_rate)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    if not path.is_file():
        raise NoInput(f"{path}: found no such file, wanted a CSV with columns <metric>{_SUFFIX}.")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        if "sample_id" not in (reader.fieldnames or ()):
            raise BadData([Fault(str(path), 1, "header", "no column sample_id", "one")])
        for row in reader:
            yield reader.line_num, {name: cell or "" for name, cell in row.items() if name}


def _key(row: Mapping[str, str]) -> str:
    """The sample's key; a text that a spreadsheet would run is stored with an apostrophe before it."""
    sample = row["sample_id"].removeprefix("'")
    repeat = row.get("repeat", "").strip()
    return sample_key(sample, int(repeat or 0)) if not repeat.strip("0123456789") else f"{sample}#{repeat}"


def _score(cell: str) -> float | str | None:
    """The score in a cell; the cell itself where it holds none."""
    word = cell.strip().lower()
    if word in _WORDS:
        return _WORDS[word]
    try:
        number = float(word)
    except ValueError:
        return repr(cell[:40])
    return number if math.isfinite(number) else repr(cell[:40])
