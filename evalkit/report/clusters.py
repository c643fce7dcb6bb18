"""Which samples are drawn together: the repeats of a case, and on demand the cases that share a field.

Turns of a dialog that are cases of their own, or questions written from one document, go right and wrong
together. Counted one by one they make a number look surer than it is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit.records import Records

__all__ = ["clusters"]


def clusters(records: Records, by: str | None = None) -> NDArray[np.int64]:
    """The cluster of each sample (n,), as numbers from 0: its case, or all cases that share a label of `by`.

    With a list of labels (`reference_doc_ids`) cases are of one cluster where a chain of shared labels leads
    from one to the other. A case without a label is a cluster of its own.
    """
    cases = np.unique(records.codes("sample_id")[0], return_inverse=True)[1]
    if by is None:
        return cases.astype(np.int64)
    groups = records.groups(by)
    heads = list(range(len(records)))
    first: dict[int, int] = {}
    for row, case in enumerate(cases.tolist()):
        _join(heads, first.setdefault(case, row), row)
    first = {}
    for row, label in zip(groups.rows.tolist(), groups.codes.tolist(), strict=True):
        _join(heads, first.setdefault(label, row), row)
    found = [_head(heads, row) for row in range(len(records))]
    return np.unique(found, return_inverse=True)[1].astype(np.int64)


def _join(heads: list[int], one: int, other: int) -> None:
    heads[_head(heads, other)] = _head(heads, one)


def _head(heads: list[int], row: int) -> int:
    """The row that stands for the cluster; the way to it gets shorter each time it is walked."""
    while heads[row] != row:
        heads[row] = heads[heads[row]]
        row = heads[row]
    return row
