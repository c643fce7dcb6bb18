"""The error directions of a run on file, each with the keys of its samples: so many at a time as fit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from evalkit.metrics.intent import Confusion, Pair
from evalkit.report import tables
from evalkit.report.partial import Partial
from evalkit.report.sample_table import KEYED, keys_of
from evalkit.report.scratch import Scratch

__all__ = ["confusion_pieces"]

_AT_ONCE = 1 << 17
"""How many keys are held; each lot is a reading of the samples."""


def confusion_pieces(
    merged: Partial, scratch: Scratch, *, run_id: str, at_once: int = _AT_ONCE
) -> Iterator[pa.Table]:
    """The table of confusions in pieces of `at_once` keys, or of one direction."""
    yield tables.confusions([], run_id=run_id)
    for lot in _lots(merged.directions, at_once):
        keys = _keys({(pair.gold, pair.predicted) for pair in lot}, scratch)
        found = [pair._replace(keys=tuple(sorted(keys[pair.gold, pair.predicted]))) for pair in lot]
        yield tables.confusions(found, run_id=run_id)


def _lots(found: Iterable[Confusion], at_once: int) -> Iterator[list[Confusion]]:
    lot: list[Confusion] = []
    for pair in found:
        if lot and sum(each.n for each in lot) + pair.n > at_once:
            yield lot
            lot = []
        lot.append(pair)
    if lot:
        yield lot


def _keys(pairs: set[Pair], scratch: Scratch) -> dict[Pair, list[str]]:
    found: defaultdict[Pair, list[str]] = defaultdict(list)
    for table in scratch.parts([*KEYED, "intent_l2", "intent_pred", "@wrong"]):
        wrong = table.filter(pc.field("@wrong"))
        ways = zip(*(wrong[name].to_pylist() for name in ("intent_l2", "intent_pred")), strict=True)
        for key, pair in zip(keys_of(wrong), ways, strict=True):
            if pair in pairs:
                found[pair].append(key)
    return found
