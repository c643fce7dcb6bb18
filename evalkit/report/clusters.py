"""Which samples are drawn together: the repeats of a case, and on demand the cases that share a field.

Turns of a dialog that are cases of their own, or questions written from one document, go right and wrong
together. Counted one by one they make a number look surer than it is.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Records

__all__ = ["clusters", "joined"]

Whole = NDArray[np.int64]


def clusters(records: Records, by: str | None = None) -> Whole:
    """The cluster of each sample (n,), as numbers from 0: its case, or all cases that share a label of `by`.

    With a list of labels (`reference_doc_ids`) cases are of one cluster where a chain of shared labels leads
    from one to the other. A case without a label is a cluster of its own.
    """
    cases = np.unique(records.codes("sample_id")[0], return_inverse=True)[1]
    if by is None:
        return cases.astype(np.int64)
    groups = records.groups(by)
    return joined(cases, groups.rows, groups.codes)


def joined(cases: Whole, rows: Whole, labels: Whole) -> Whole:
    """The cluster of each sample (n,) from its case (n,) and from pairs of a row and a label that it has, (pairs,) each."""
    heads = array("q", range(len(cases)))
    for numbers, places in ((cases, range(len(cases))), (labels, rows.tolist())):
        first: dict[int, int] = {}
        for row, number in zip(places, numbers.tolist(), strict=True):
            _join(heads, first.setdefault(number, row), row)
    found = [_head(heads, row) for row in range(len(cases))]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _join(heads: array[int], one: int, other: int) -> None:
    heads[_head(heads, other)] = _head(heads, one)


def _head(heads: array[int], row: int) -> int:
    """The row that stands for the cluster; the way to it gets shorter each time it is walked."""
    while heads[row] != row:
        heads[row] = heads[heads[row]]
        row = heads[row]
    return row
