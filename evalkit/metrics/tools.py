"""Were the right tools called, with the right arguments? Expected calls against those that were made.

Calls are paired one to one, by name first: as many pairs as there can be. Among calls of one name the pairing
with the most equal arguments is taken, whatever the order of the calls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evalkit.contracts import EvalRecord, MetricResult, ToolCall
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["Pairing", "calls", "compute", "pairing", "same"]

_Costs = Sequence[Sequence[int]]


class Pairing(NamedTuple):
    """Which calls belong together: `pairs` are (expected, made), the rest is `missing` or `surplus`."""

    pairs: tuple[tuple[ToolCall, ToolCall], ...]
    missing: tuple[ToolCall, ...]
    surplus: tuple[ToolCall, ...]


class _Scores(NamedTuple):
    """The scores of one answered record by the name of the metric; null where it does not count."""

    tool_precision: float | None = None
    tool_recall: float | None = None
    tool_f1: float | None = None
    argument_accuracy: float | None = None
    call_ratio: float | None = None
    step_ratio: float | None = None
    partial_match: float | None = None


def compute(records: RecordsLike) -> list[MetricResult]:
    """How well the tool calls fit the expected ones; all between 0 and 1.

    - `tool_precision`: paired / made; none made: null · `tool_recall`: paired / expected · `tool_f1`
    - `argument_accuracy`: equal / expected arguments of the paired calls; surplus arguments do not matter
    - `call_ratio`: expected / made calls, at most 1 · `step_ratio`: expected / actual turns, at most 1
    - `partial_match`: share of the expected names found in their order (longest common subsequence)

    Counted: the case says which calls it expects (`step_ratio`: how many turns), the answer is ok and its
    calls were told. Where none is expected, precision, recall, F1, call ratio and partial match are 1 if none
    was made and 0 else.
    """
    table = Records.of(records)
    asked = table.told("expected_tools") | table.told("expected_turns")
    rows = np.flatnonzero(asked & table.equals("answer_status", "ok"))
    columns = np.full((len(_Scores._fields), len(table)), np.nan)
    scores = [_scores(table[row]) for row in rows.tolist()]
    columns[:, rows] = np.array(scores, dtype=np.float64).reshape(len(rows), len(columns)).T
    return [
        MetricResult(name, *slice_mean(table, Scores(column, ~np.isnan(column))), is_pct=True)
        for name, column in zip(_Scores._fields, columns, strict=True)
    ]


def calls(record: EvalRecord) -> tuple[ToolCall, ...] | None:
    """The calls that were made, in order: those of the record, else of its turns; null where none was told."""
    if record.tool_calls is not None:
        return record.tool_calls
    return tuple(call for turn in record.dialog for call in turn.tool_calls) or None


def _scores(record: EvalRecord) -> _Scores:
    expected, made = record.expected_tools, calls(record)
    turns = _step_ratio(record) if record.expected_turns else None
    if expected is None or made is None:
        return _Scores(step_ratio=turns)
    if not expected:
        kept = 0.0 if made else 1.0
        return _Scores(kept, kept, kept, None, kept, turns, kept)
    n, wanted, equal, common = _compared(expected, made)
    return _Scores(
        n / len(made) if made else None,
        n / len(expected),
        2 * n / (len(expected) + len(made)),
        equal / wanted if wanted else None,
        min(1.0, len(expected) / len(made)) if made else None,
        turns,
        common / len(expected),
    )


def _step_ratio(record: EvalRecord) -> float | None:
    turns = len(record.dialog) or (0 if record.response is None else len(record.user_turns))
    return min(1.0, record.expected_turns / turns) if record.expected_turns and turns else None


def _compared(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> tuple[int, int, int, int]:
    """How many pairs there are, their expected arguments, those given equal, and the names found in order."""
    names, others = [call.name for call in expected], [call.name for call in made]
    by_name = dict(zip(others, made, strict=True))
    if len(set(names)) == len(names) and len(by_name) == len(others):  # a name pairs in one way only
        pairs = [(call, by_name[name]) for name, call in zip(names, expected, strict=True) if name in by_name]
    else:
        pairs = list(pairing(expected, made).pairs)
    wanted = sum([len(call.arguments) for call, _ in pairs])
    equal = sum([_equal_arguments(call, other) for call, other in pairs])
    return len(pairs), wanted, equal, len(names) if names == others else _common(names, others)


def pairing(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> Pairing:
    """The calls paired one to one: of each name as many as can be, with as many equal arguments as can be.

    Among pairings with equally many, that with the fewest unequal expected arguments is taken.
    """
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, group in enumerate((expected, made)):
        for place, call in enumerate(group):
            places[call.name][side].append(place)
    pairs = [
        (wanted[row], found[column])
        for wanted, found in places.values()
        for row, column in _matched([expected[place] for place in wanted], [made[place] for place in found])
    ]
    done, used = {place for place, _ in pairs}, {place for _, place in pairs}
    return Pairing(
        tuple((expected[place], made[other]) for place, other in pairs),
        tuple(call for place, call in enumerate(expected) if place not in done),
        tuple(call for place, call in enumerate(made) if place not in used),
    )


def _matched(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> list[tuple[int, int]]:
    """The places of the pairs among calls of one name."""
    weight = 1 + sum(len(call.arguments) for call in expected)
    costs = []
    for call in expected:
        equal = [_equal_arguments(call, other) for other in made]
        costs.append([len(call.arguments) - n - weight * n for n in equal])
    if len(expected) <= len(made):
        return _assignment(costs)
    return [(column, row) for row, column in _assignment(list(zip(*costs, strict=True)))]


def _assignment(costs: _Costs) -> list[tuple[int, int]]:
    """The pairs (row, column) of least total cost that give every row a column; columns not fewer than rows.

    Shortest augmenting paths with potentials (Kuhn 1955; Jonker and Volgenant 1987), cubic at worst.
    """
    plan = _Plan(costs)
    for row in range(len(costs)):
        plan.place(row)
    return sorted((row, column) for column, row in plan.row_of.items())


class _Plan:
    """An assignment in the making: the row that has each column, and what rows and columns are worth."""

    def __init__(self, costs: _Costs) -> None:
        self.costs = costs
        self.row_of: dict[int, int] = {}
        self.row_worth = [0] * len(costs)
        self.column_worth = [0] * len(costs[0]) if costs else []

    def place(self, row: int) -> None:
        """Give the row a column, moving others along the cheapest path to a free one."""
        settled, before, column = self._path(row)
        reach = settled[column]
        self.row_worth[row] += reach
        for passed, distance in settled.items():
            self.column_worth[passed] -= reach - distance
            if passed in self.row_of:
                self.row_worth[self.row_of[passed]] += reach - distance
        while (source := before[column]) is not None:
            self.row_of[column] = self.row_of[source]
            column = source
        self.row_of[column] = row

    def _path(self, row: int) -> tuple[dict[int, int], dict[int, int | None], int]:
        """The distances of the columns passed, the column before each, and the free column at the end."""
        settled: dict[int, int] = {}
        distance: dict[int, int] = {}
        before: dict[int, int | None] = {}
        last, reach = None, 0
        while True:
            for column, worth in enumerate(self.column_worth):
                length = reach + self.costs[row][column] - self.row_worth[row] - worth
                if column not in settled and length < distance.get(column, length + 1):
                    distance[column], before[column] = length, last
            last = min(distance.keys() - settled, key=lambda column: (distance[column], column))
            reach = settled[last] = distance[last]
            if last not in self.row_of:
                return settled, before, last
            row = self.row_of[last]


def _equal_arguments(expected: ToolCall, made: ToolCall) -> int:
    """How many of the expected arguments were given that very value."""
    given, equal = made.arguments, 0
    for name, value in expected.arguments.items():
        equal += name in given and same(given[name], value)
    return equal


def same(found: object, wanted: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1; objects have no order, lists do."""
    if type(wanted) is str:
        return found == wanted
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(same(found[name], wanted[name]) for name in wanted)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted


def _common(expected: Sequence[str], made: Sequence[str]) -> int:
    """The length of the longest sequence of names that is a subsequence of both."""
    row = [0] * (len(made) + 1)
    for name in expected:
        above = row
        row = [0]
        for place, other in enumerate(made):
            row.append(above[place] + 1 if name == other else max(above[place + 1], row[place]))
    return row[-1]
