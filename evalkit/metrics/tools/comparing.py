"""How two columns of calls compare, row by row: counts, from which the scores follow."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq

from evalkit.metrics.tools.pairing import matched
from evalkit.records import Lists, ToolCalls

__all__ = ["Compared", "compared"]

Whole: TypeAlias = NDArray[np.int64]
_Marks: TypeAlias = NDArray[np.bool_]


class Compared(NamedTuple):
    """Counts of each record, (n,), all zero where nothing was compared.

    How many calls were `expected` and `made`, and how many `pairs` they form; the `wanted` arguments of the
    paired expected calls, and those given `equal`; how many of the expected names were found `in_order`.
    """

    expected: Whole
    made: Whole
    pairs: Whole
    wanted: Whole
    equal: Whole
    in_order: Whole


class _Groups(NamedTuple):
    """Calls of one row and one name: group g is `calls[starts[g] : starts[g] + sizes[g]]`, called with `arguments`."""

    calls: Whole
    starts: Whole
    sizes: Whole
    arguments: Lists

    def at(self, places: NDArray[Any]) -> _Groups:
        """Those groups."""
        return self._replace(starts=self.starts[places], sizes=self.sizes[places])

    def sets(self, group: int) -> list[set[int]]:
        """The arguments of each call of the group."""
        calls = self.calls[self.starts[group] :][: self.sizes[group]].tolist()
        codes, offsets = self.arguments.codes, self.arguments.offsets
        return [set(codes[offsets[call] : offsets[call + 1]].tolist()) for call in calls]


def compared(expected: ToolCalls, made: ToolCalls, rows: _Marks) -> Compared:
    """The counts of the marked rows."""
    span = 1 + max(int(side.names.codes.max(initial=0)) for side in (expected, made))
    (keys, expected_calls), (others, made_calls) = (_by_name(side, rows, span) for side in (expected, made))
    both, first, second = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
    expected_calls, made_calls = expected_calls.at(first), made_calls.at(second)
    pairs, wanted, equal = (
        np.bincount(both // span, weights=counts, minlength=len(rows)).astype(np.int64)
        for counts in (
            np.minimum(expected_calls.sizes, made_calls.sizes),
            *_paired(expected_calls, made_calls),
        )
    )
    in_order = _in_order(expected.names, made.names, pairs)
    n_expected, n_made = (np.diff(side.names.offsets) * rows for side in (expected, made))
    return Compared(n_expected, n_made, pairs, wanted, equal, in_order)


def _by_name(side: ToolCalls, rows: _Marks, span: int) -> tuple[Whole, _Groups]:
    """The calls of the marked rows in groups, and the key of each, `row * span + name`, in order."""
    row = np.repeat(np.arange(len(rows)), np.diff(side.names.offsets))
    calls = np.flatnonzero(rows[row])
    keys = row[calls] * span + side.names.codes[calls]
    order = np.argsort(keys, kind="stable")
    starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
    sizes = np.diff(starts, append=len(keys))
    return keys[order[starts]], _Groups(calls[order], starts, sizes, side.arguments)


def _paired(expected: _Groups, made: _Groups) -> tuple[Whole, Whole]:
    """How many arguments are expected in the pairs of each group, and how many of them were given equal."""
    wanted, equal = np.zeros((2, len(expected.sizes)), dtype=np.int64)
    single = np.minimum(expected.sizes, made.sizes) == 1
    wanted[single], equal[single] = _best(expected.at(single), made.at(single))
    for group in np.flatnonzero(~single).tolist():
        mine, theirs = expected.sets(group), made.sets(group)
        pairs = matched(mine, theirs)
        wanted[group] = sum(len(mine[place]) for place, _ in pairs)
        equal[group] = sum(len(mine[place] & theirs[other]) for place, other in pairs)
    return wanted, equal


def _best(expected: _Groups, made: _Groups) -> tuple[Whole, Whole]:
    """The same of groups that have one pair: the one with most equal, then with fewest unequal arguments."""
    sizes = expected.sizes * made.sizes
    group, step = _spread(sizes)
    call = expected.calls[expected.starts[group] + step // made.sizes[group]]
    other = made.calls[made.starts[group] + step % made.sizes[group]]
    equal = _common((expected.arguments, call), (made.arguments, other))
    unequal = np.diff(expected.arguments.offsets)[call] - equal
    most = int(unequal.max(initial=0))
    best = np.maximum.reduceat(equal * (most + 1) + most - unequal, np.cumsum(sizes) - sizes)
    equal, spared = np.divmod(best, most + 1)
    return equal + most - spared, equal


def _common(*sides: tuple[Lists, Whole]) -> Whole:
    """How many items the lists at these places of both sides have in common, pair by pair; none has one twice."""
    found = [_items(lists, places) for lists, places in sides]
    span = 1 + max(int(codes.max(initial=0)) for _, codes in found)
    keys = np.sort(np.concatenate([pair * span + codes for pair, codes in found]))
    return np.bincount(keys[1:][keys[1:] == keys[:-1]] // span, minlength=len(sides[0][1]))


def _in_order(expected: Lists, made: Lists, pairs: Whole) -> Whole:
    """The length of the longest sequence of names that is a subsequence of both; one pair is always in order."""
    found = pairs.copy()
    for row in np.flatnonzero((pairs > 1) & ~_same(expected, made)).tolist():
        names, others = (side.codes[side.offsets[row] : side.offsets[row + 1]] for side in (expected, made))
        found[row] = LCSseq.similarity(names.tolist(), others.tolist())
    return found


def _same(expected: Lists, made: Lists) -> _Marks:
    """Where both lists are the same."""
    found: _Marks = np.diff(expected.offsets) == np.diff(made.offsets)
    rows = np.flatnonzero(found)
    (row, names), (_, others) = _items(expected, rows), _items(made, rows)
    found[rows[row[names != others]]] = False
    return found


def _items(lists: Lists, places: Whole) -> tuple[Whole, NDArray[np.int32]]:
    """The items of the lists at these places, one list after the other, each with the number of its list."""
    owner, step = _spread(np.diff(lists.offsets)[places])
    return owner, lists.codes[lists.offsets[places][owner] + step]


def _spread(sizes: Whole) -> tuple[Whole, Whole]:
    """Of groups of these sizes: of every member the number of its group and its place in it, from 0."""
    owner: Whole = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - (np.cumsum(sizes) - sizes)[owner]
