"""Who is charged with what: the failures of a run by row, beside the samples that could have failed.

The gates, their order and the reasons are those of the failures; nothing is judged here a second time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord
from evalkit.records import Records
from evalkit.report.digest import Digest
from evalkit.report.failures import Failure, judged
from evalkit.report.gains import Gain, gain
from evalkit.report.reasons import checks
from evalkit.slices import scores_of

__all__ = ["Charges", "Names", "Rows", "charges"]

Rows = NDArray[np.bool_]
Names: TypeAlias = Callable[[EvalRecord], Iterable[str]]


@dataclass(frozen=True, eq=False)
class Charges:
    """The records of a run and, by row, the failure of each that failed.

    `judged` (n,) are the samples that some gate was held against; `counted` has, by metric, where it counts.
    `clusters` (n,) says which samples intervals draw together.
    """

    records: Records
    failed: Mapping[int, Failure]
    judged: Rows
    counted: Mapping[str, Rows]
    clusters: NDArray[np.int64]
    _having: dict[Names, Mapping[str, list[int]]] = field(default_factory=dict)

    @property
    def n_judged(self) -> int:
        """How many samples either passed or failed."""
        return int(self.judged.sum())

    @property
    def recall(self) -> str:
        """The metric that the gate of retrieval is held against; empty where there is none."""
        return next((name for name in self.held if name.startswith("recall@")), "")

    @property
    def held(self) -> list[str]:
        """The metrics that the gates are held against, in their order."""
        return [check.metric for check in checks(self.counted)]

    def rows(self, metric: str = "") -> Rows:
        """The judged rows, only those that the metric counts where one is named."""
        if not metric:
            return self.judged.copy()
        return self.judged & self.counted.get(metric, np.zeros(len(self.records), dtype=np.bool_))

    def having(self, names: Names) -> Mapping[str, list[int]]:
        """The rows of each name that `names` finds in the records; worked out once for each such function."""
        if names not in self._having:
            found: defaultdict[str, list[int]] = defaultdict(list)
            for row, record in enumerate(self.records):
                for name in set(names(record)):
                    found[name].append(row)
            self._having[names] = found
        return self._having[names]

    def gain(self, lost: Mapping[int, float], at_risk: Rows) -> Gain:
        """How far the share of passing samples would rise if the rows in `lost` passed, so much of each.

        The interval is over the rows `at_risk`, to which those of `lost` are added.
        """
        risk = at_risk.copy()
        risk[list(lost)] = True
        losses = np.zeros(len(self.records))
        losses[list(lost)] = list(lost.values())
        return gain(losses[risk], whole=self.n_judged, cases=self.clusters[risk])


def charges(digest: Digest) -> Charges:
    """The charges of a run."""
    records, results = digest.run.records, digest.run.results
    failed = {failure.row: failure for failure in digest.failures.failed}
    counted = {result.name: scores_of(records, result).counted for result in results}
    entered = judged(records, counted)
    entered[list(failed)] = True
    return Charges(records, failed, entered, counted, digest.clusters)
