"""A form as it is known by now: lines are read by it, and those are told that it would misread."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evalkit.contracts import EvalRecord
from evalkit.records.fields import CALLS, call_column

__all__ = ["Known"]

_NULL = b"null"
_NO_TEXT = (_NULL, b'""')
_ITEM = re.compile(rb'(?:\[|,| )"[^"]')
"""An item of a list that is no empty text."""


@dataclass(frozen=True, eq=False, slots=True)
class Known:
    """A form to read by: `expression` matches whole lines with their ends, its groups hold the `columns`.

    What a line of the form does not say is in its record as in the `sample`. Turns of its dialogs may hold
    calls where `turns_call`. Lines are bytes of UTF-8, folded.
    """

    expression: re.Pattern[bytes]
    columns: tuple[str, ...]
    comma: str
    sample: EvalRecord
    turns_call: bool

    def odd(self, cells: Sequence[Sequence[bytes]], n: int) -> list[int]:
        """Which of `n` lines, by their columns, say something in another place than where a column looks for it."""
        found = {*self._lacking_first(cells), *(self._lacking_calls(cells, n) if self.turns_call else ())}
        return sorted(found)

    def _lacking_calls(self, cells: Sequence[Sequence[bytes]], n: int) -> Iterable[int]:
        """Those without calls of their own, so that those of their turns count."""
        name = call_column(CALLS["tool_calls"])
        if name in self.columns:
            column = cells[self.columns.index(name)]
            return (place for place, text in enumerate(column) if text == _NULL)
        return range(n) if self.sample.tool_calls is None else ()

    def _lacking_first(self, cells: Sequence[Sequence[bytes]]) -> Iterable[int]:
        """Those with predictions but not the first: the models fill it in.

        Where no column tells the first, and it may have been filled in for the sample, that is all of them.
        """
        first, several = (
            cells[self.columns.index(name)] if name in self.columns else None
            for name in ("intent_pred", "intent_pred_all")
        )
        filled = any(self.sample.intent_pred_all)
        if several is None:
            return [place for place, text in enumerate(first or ()) if text in _NO_TEXT] if filled else []
        if first is None and filled:
            return range(len(several))
        open_ = enumerate(several) if first is None else _where_none(first, several)
        return [place for place, items in open_ if _ITEM.search(items)]


def _where_none(first: Sequence[bytes], several: Sequence[bytes]) -> Iterator[tuple[int, bytes]]:
    """The place and the predictions of each line that does not say the first."""
    return (
        (place, items)
        for place, (text, items) in enumerate(zip(first, several, strict=True))
        if text in _NO_TEXT
    )
