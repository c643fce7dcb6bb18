"""What to fix first, all of it: the tree of intents, error directions, funnel, suggestions, doubtful labels."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.report.digest import Digest
from evalkit.report.directions import ErrorDirection
from evalkit.report.doubtful import Doubt, doubtful_labels
from evalkit.report.funnel import Funnel, funnel
from evalkit.report.intent_tree import IntentTree, intent_tree, recoverable
from evalkit.report.suggestions import Suggestion

__all__ = ["FIRST", "FixFirst", "fix_first"]

FIRST = 3
"""So many things to fix are named where there is room for few."""

_KEPT = "_fix_first"


@dataclass(frozen=True, slots=True)
class FixFirst:
    """What a run says of what to fix, each list with most to win first; `tree` is null without any metric.

    `cluster` is the field whose cases intervals draw together, null where each is drawn for itself.
    """

    tree: IntentTree | None
    directions: tuple[ErrorDirection, ...]
    funnel: Funnel
    suggestions: tuple[Suggestion, ...]
    doubts: tuple[Doubt, ...]
    cluster: str | None = None

    @property
    def first(self) -> tuple[Suggestion, ...]:
        """The few suggestions to begin with."""
        return self.suggestions[:FIRST]


def fix_first(digest: Digest, *, metric: str | None = None) -> FixFirst:
    """All of it for a run; the tree ranks by `metric`, or by the main metric of the run where that can be won back.

    UnknownName or UsageError for a named metric that cannot be ranked by. Without one it is worked out once a
    digest, and kept with it.
    """
    kept = vars(digest)
    if metric is not None:
        return _worked_out(digest, metric)
    if _KEPT not in kept:
        kept[_KEPT] = _worked_out(digest, digest.main if recoverable(digest, digest.main) else None)
    found: FixFirst = kept[_KEPT]
    return found


def _worked_out(digest: Digest, metric: str | None) -> FixFirst:
    tree = intent_tree(digest, metric=metric) if metric else None
    return FixFirst(
        tree,
        tree.directions if tree else (),
        funnel(digest.charges),
        digest.suggestions,
        tuple(doubtful_labels(digest.run.records)),
        digest.cluster,
    )
