"""Samples with what stands beside them, as the columns that charges are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalkit.report.channels import CHANNELS
from evalkit.report.reasons import Gate
from evalkit.report.sample_table import keys_of

__all__ = ["Rows", "Sheet", "Words"]

Rows = NDArray[np.bool_]
Whole = NDArray[np.int64]

RECALL = "recall"
"""What stands for the metric that the gate of retrieval is held against."""


class Words(NamedTuple):
    """Pairs of a row and the code of a name that it has, in order of rows; `names` are by their codes."""

    rows: Whole
    codes: Whole
    names: list[str]


class Sheet:
    """Some samples of a run (n), with their COLUMNS; `recall` is the metric that stands for retrieval, empty for none."""

    def __init__(self, table: pa.Table, recall: str) -> None:
        """The samples in `table`."""
        self.table, self._recall = table, recall
        self._words: dict[str, Words] = {}

    def __len__(self) -> int:
        """How many samples there are."""
        return len(self.table)

    @cached_property
    def judged(self) -> Rows:
        """The samples (n,) that some gate was held against."""
        return np.asarray(self.table["@judged"])

    @cached_property
    def labels(self) -> list[str | None]:
        """The right intents, null where there is none."""
        return self._column("intent_l2")

    @cached_property
    def kinds(self) -> list[str | None]:
        """The first reason of each failed sample."""
        return self._column("@kind")

    @cached_property
    def gate(self) -> list[Gate]:
        """The first gate that each failed sample broke, null for the others."""
        return self._column("@gate")

    @cached_property
    def gates(self) -> dict[Gate, Whole]:
        """The failed rows by the first gate that they broke."""
        rows: defaultdict[Gate, list[int]] = defaultdict(list)
        for row, gate in enumerate(self.gate):
            if gate is not None:
                rows[gate].append(row)
        return {gate: np.array(mine) for gate, mine in rows.items()}

    @cached_property
    def again(self) -> Rows:
        """The rows (n,) that broke a later gate too."""
        return np.asarray(self.table["@again"])

    @cached_property
    def keys(self) -> list[str]:
        """The key of each sample."""
        return keys_of(self.table)

    @cached_property
    def queries(self) -> list[str]:
        """What was asked."""
        return self._column("query")

    def _column(self, name: str) -> list[Any]:
        found: list[Any] = self.table[name].to_pylist()
        return found

    def at_risk(self, metric: str) -> Rows:
        """The judged rows (n,), only those that the metric counts where one is named."""
        name = self._recall if metric == RECALL else metric
        if not metric:
            return self.judged
        if name not in self.table.column_names:
            return np.zeros(len(self), dtype=np.bool_)
        found: Rows = self.judged & np.asarray(pc.is_valid(self.table[name]))
        return found

    def words(self, name: str) -> Words:
        """What the samples could fail at, by that name: a label, a channel, one of WORDS; all have the same word by no name."""
        if name not in self._words:
            self._words[name] = self._pairs(name)
        return self._words[name]

    def having(self, name: str, words: Sequence[str]) -> Rows:
        """The rows (n,) that have one of the words."""
        found = self.words(name)
        hit = np.zeros(len(self), dtype=np.bool_)
        wanted = [found.names.index(word) for word in words if word in found.names]
        hit[found.rows[np.isin(found.codes, wanted)]] = True
        return hit

    def _pairs(self, name: str) -> Words:
        if name == "channel":
            return self._channels()
        if not name:
            return Words(np.arange(len(self)), np.zeros(len(self), dtype=np.int64), [""])
        column: Any = self.table["intent_l2" if name == "label" else f"@words:{name}"].combine_chunks()
        if name == "label":
            texts, rows = pc.fill_null(column, ""), np.arange(len(self))
        else:
            sizes = np.diff(np.asarray(column.offsets))
            texts, rows = column.flatten(), np.repeat(np.arange(len(self)), sizes)
        encoded = texts.dictionary_encode()
        return Words(rows, np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist())

    def _channels(self) -> Words:
        skipped = pa.scalar("skipped")
        asked = [np.asarray(pc.not_equal(self.table[f"{name}_status"], skipped)) for name in CHANNELS]
        rows, codes = np.nonzero(np.stack(asked, axis=1))
        return Words(rows, codes, [*CHANNELS])
