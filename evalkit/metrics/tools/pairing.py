"""Which call belongs to which: the pairing of one record's calls, by name, then by arguments."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from evalkit.contracts import ToolCall
from evalkit.records import arguments, canonical

__all__ = ["Pairing", "matched", "pairing", "same"]

_Costs = Sequence[Sequence[int]]
_Item = TypeVar("_Item", str, int)
"""An argument, key and value, as a text or as its code."""


class Pairing(NamedTuple):
    """Which calls belong together: `pairs` are (expected, made), the rest is `missing` or `surplus`."""

    pairs: tuple[tuple[ToolCall, ToolCall], ...]
    missing: tuple[ToolCall, ...]
    surplus: tuple[ToolCall, ...]


def pairing(expected: Sequence[ToolCall], made: Sequence[ToolCall]) -> Pairing:
    """The calls paired one to one: of each name as many as can be, with as many equal arguments as can be.

    Among pairings with equally many, that with the fewest unequal expected arguments is taken.
    """
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, group in enumerate((expected, made)):
        for place, call in enumerate(group):
            places[call.name][side].append(place)
    given, other = ([set(arguments(call.arguments)) for call in group] for group in (expected, made))
    pairs = [
        (wanted[row], found[column])
        for wanted, found in places.values()
        for row, column in matched([given[place] for place in wanted], [other[place] for place in found])
    ]
    done, used = {place for place, _ in pairs}, {place for _, place in pairs}
    return Pairing(
        tuple((expected[place], made[other]) for place, other in pairs),
        tuple(call for place, call in enumerate(expected) if place not in done),
        tuple(call for place, call in enumerate(made) if place not in used),
    )


def matched(expected: Sequence[set[_Item]], made: Sequence[set[_Item]]) -> list[tuple[int, int]]:
    """The places of the pairs among calls of one name, which are told by their arguments; as `pairing`."""
    weight = 1 + sum(map(len, expected))
    costs = [[len(call - other) - weight * len(call & other) for other in made] for call in expected]
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
    """An assignment in the making: the row that has each column, and the potentials of rows and columns."""

    def __init__(self, costs: _Costs) -> None:
        self.costs = costs
        self.row_of: dict[int, int] = {}
        self.row_potential = [0] * len(costs)
        self.column_potential = [0] * len(costs[0]) if costs else []

    def place(self, row: int) -> None:
        """Give the row a column, moving others along the cheapest path to a free one."""
        settled, before, column = self._path(row)
        reach = settled[column]
        self.row_potential[row] += reach
        for passed, distance in settled.items():
            self.column_potential[passed] -= reach - distance
            if passed in self.row_of:
                self.row_potential[self.row_of[passed]] += reach - distance
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
            for column, potential in enumerate(self.column_potential):
                length = reach + self.costs[row][column] - self.row_potential[row] - potential
                if column not in settled and length < distance.get(column, length + 1):
                    distance[column], before[column] = length, last
            last = min(distance.keys() - settled, key=lambda column: (distance[column], column))
            reach = settled[last] = distance[last]
            if last not in self.row_of:
                return settled, before, last
            row = self.row_of[last]


def same(found: object, wanted: object) -> bool:
    """Whether two JSON values are equal: 1 is 1.0, but true is not 1; objects have no order, lists do."""
    return canonical(found) == canonical(wanted)
