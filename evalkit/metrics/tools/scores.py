"""Tool scores: short formulas over the counts of one record of each kind."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.metrics.tools.comparing import Compared, compared
from evalkit.records import Records, RecordsLike
from evalkit.slices import Kinds, Scores, slice_mean

__all__ = ["compute"]


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
    return [MetricResult(name, *slice_mean(table, scores), is_pct=True) for name, scores in _columns(table)]


def _columns(table: Records) -> Iterator[tuple[str, Scores]]:
    """Each metric's name and scores: one for each kind of record."""
    expected, made = table.calls("expected_tools", "calls_made")
    told = table.equals("answer_status", "ok") & ~expected.names.missing & ~made.names.missing
    counts = compared(expected, made, told)
    kinds, first = Kinds.alike([told.astype(np.int64), *counts])
    n, told = Compared(*(count[first] for count in counts)), told[first]
    known = told & ((n.made > 0) | (n.expected == 0))
    expected_or_one, made_or_one = np.maximum(n.expected, 1), np.maximum(n.made, 1)
    yield "tool_precision", Scores(_where_expected(n, n.pairs / made_or_one), known, kinds)
    yield "tool_recall", Scores(_where_expected(n, n.pairs / expected_or_one), told, kinds)
    yield "tool_f1", Scores(_where_expected(n, 2 * n.pairs / (expected_or_one + n.made)), told, kinds)
    yield "argument_accuracy", Scores(n.equal / np.maximum(n.wanted, 1), n.wanted > 0, kinds)
    yield "call_ratio", Scores(_where_expected(n, np.minimum(expected_or_one / made_or_one, 1)), known, kinds)
    yield "step_ratio", _steps(table)
    yield "partial_match", Scores(_where_expected(n, n.in_order / expected_or_one), told, kinds)


def _where_expected(n: Compared, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scores where calls are expected; where none is, 1 if none was made, else 0."""
    return np.where(n.expected > 0, scores, n.made == 0)


def _steps(table: Records) -> Scores:
    """Expected turns / turns of the dialog; without a dialog an answer took as many turns as the user had."""
    dialog, expected = table.sizes("dialog"), table.numbers("expected_turns")
    turns = np.where(dialog > 0, dialog, table.told("response") * np.maximum(table.sizes("messages"), 1))
    counted = table.equals("answer_status", "ok") & (expected > 0)
    needed = np.where(counted, np.minimum(expected, turns), 0).astype(np.int64)
    kinds, first = Kinds.alike([needed, turns])
    return Scores(needed[first] / np.maximum(turns[first], 1), needed[first] > 0, kinds)
