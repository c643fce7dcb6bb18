"""How some samples of a run are charged, once the facts of all of it are known."""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from evalkit.report.causes import SPREAD, Cause, Facts, causes, of_intent
from evalkit.report.charges import Charge, Charges, Risk
from evalkit.report.directions import examples
from evalkit.report.lots import ALONE, Lots
from evalkit.report.remedies import RISKS, remedy
from evalkit.report.sheet import Rows, Sheet

__all__ = ["charge"]

Whole = NDArray[np.int64]


class _Share(NamedTuple):
    """Rows that lose as much each."""

    rows: Whole
    loss: float


def charge(sheet: Sheet, facts: Facts, clusters: Whole) -> Charges:
    """The charges of the samples of a sheet, `clusters` (n,) as `lots.numbered`."""
    by_cause, by_kind = defaultdict[Cause, list[_Share]](list), defaultdict[str, list[_Share]](list)
    for rows, found in _shared(sheet, facts):
        for cause in found:
            by_cause[cause].append(_Share(rows, 1 / len(found)))
        for kind, n in Counter(cause.kind for cause in found if cause.kind in SPREAD).items():
            by_kind[kind].append(_Share(rows, n / len(found)))
    return Charges(
        len(sheet),
        {cause: _of_cause(sheet, cause, shares, clusters) for cause, shares in by_cause.items()},
        {kind: _of_cause(sheet, Cause(kind), shares, clusters) for kind, shares in by_kind.items()},
        {
            gate: _charge(sheet, [_Share(rows, 1.0)], sheet.judged, clusters)
            for gate, rows in sheet.gates.items()
        },
        {(metric, words): _risk(sheet, metric, words, clusters) for metric, words in RISKS},
    )


def _shared(sheet: Sheet, facts: Facts) -> Iterator[tuple[Whole, list[Cause]]]:
    """The failed rows that have the same causes, and these."""
    encoded = sheet.table["@causes"].combine_chunks().dictionary_encode()
    failed = np.flatnonzero(np.asarray(pc.is_valid(encoded)))
    numbers: dict[tuple[Cause, ...], int] = {}
    of_text = [
        numbers.setdefault(
            causes((Cause(kind, (*subject,)) for kind, *subject in json.loads(text)), facts), len(numbers)
        )
        for text in map(str, encoded.dictionary)
    ]
    _, labels, names = sheet.words("label")
    texts = np.asarray(encoded.indices.filter(pc.is_valid(encoded.indices)))
    pairs = np.array(of_text, dtype=np.int64)[texts] * len(names) + labels[failed]
    order = np.argsort(pairs, kind="stable")
    alike, starts = np.unique(pairs[order], return_index=True)
    found = [*numbers]
    for pair, rows in zip(alike.tolist(), np.split(failed[order], starts[1:]), strict=False):
        number, label = divmod(pair, len(names))
        yield rows, [of_intent(cause, names[label]) for cause in found[number]]


def _of_cause(sheet: Sheet, cause: Cause, shares: Sequence[_Share], clusters: Whole) -> Charge:
    return _charge(sheet, shares, remedy(cause.kind).at_risk(sheet, cause), clusters)


def _charge(sheet: Sheet, shares: Sequence[_Share], at_risk: Rows, clusters: Whole) -> Charge:
    rows = np.concatenate([share.rows for share in shares])
    losses = np.repeat([share.loss for share in shares], [len(share.rows) for share in shares])
    order = np.argsort(rows)
    rows, losses = rows[order], losses[order]
    inside, told = at_risk[rows], rows.tolist()
    keys = [sheet.keys[row] for row in told]
    return Charge(
        sheet.gate[told[0]],
        Counter(sheet.labels[row] for row in told),
        Counter(sheet.kinds[row] for row in told),
        int(sheet.again[rows].sum()),
        tuple(keys),
        examples(keys, (sheet.queries[row] for row in told)),
        Lots.of(losses[inside], clusters[rows[inside]]),
        Lots.of(losses[~inside], clusters[rows[~inside]]),
    )


def _risk(sheet: Sheet, metric: str, words: str, clusters: Whole) -> Risk:
    found = sheet.words(words)
    kept = sheet.at_risk(metric)[found.rows]
    codes, mine = found.codes[kept], clusters[found.rows[kept]]
    alone = np.bincount(codes[mine == ALONE], minlength=len(found.names)).tolist()
    others: dict[str, array[int]] = defaultdict(lambda: array("q"))
    for code, cluster in zip(codes[mine != ALONE].tolist(), mine[mine != ALONE].tolist(), strict=True):
        others[found.names[code]].append(cluster)
    return Risk(Counter({name: n for name, n in zip(found.names, alone, strict=True) if n}), dict(others))
