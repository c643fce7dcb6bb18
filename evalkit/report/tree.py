"""The intents as a tree, what to fix first on both levels, each with the numbers that stand beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from evalkit.report.digest import Digest
from evalkit.report.figures import Figure, figures
from evalkit.report.fix_first import fix_first
from evalkit.report.intent_tree import TreeRow
from evalkit.report.text import storable
from evalkit.report.worst import WorstRow, worst

__all__ = ["Branch", "Leaf", "tree"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One intent of either level: its figure, what there is to win, further metrics by name, and its failures.

    `won` is null where the main metric cannot be won back: its scores leave 0–1.
    """

    row: WorstRow
    won: TreeRow | None
    others: Mapping[str, Figure]
    failed: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A first-level intent and the second-level ones under it; `top` is null for those under none."""

    top: Leaf | None
    leaves: tuple[Leaf, ...]


def tree(digest: Digest, *, others: Iterable[str] = ()) -> list[Branch]:
    """The branches, what to fix first by the main metric, else worst mean first; empty where no intent has a label.

    A label that stands under two first-level labels is put under the one that it has most often.
    """
    if digest.main is None:
        return []
    names = tuple(others)
    tops = _leaves(digest, "intent_l1", names)
    above = _above(digest)
    under: dict[str | None, list[Leaf]] = {}
    for leaf in _leaves(digest, "intent_l2", names):
        under.setdefault(above.get(leaf.row.figure.slice), []).append(leaf)
    branches = [Branch(top, tuple(under.pop(top.row.figure.slice, ()))) for top in tops]
    return branches + [Branch(None, tuple(leaves)) for leaves in under.values()]


def _leaves(digest: Digest, level: str, names: tuple[str, ...]) -> list[Leaf]:
    found = digest.tables
    failed = Counter(storable(getattr(failure.record, level) or "") for failure in digest.failures.failed)
    beside: dict[str, dict[str, Figure]] = {}
    for name in names:
        for figure in figures(found.slices, dimension=level, metric=name):
            beside.setdefault(figure.slice, {})[name] = figure
    won = {row.label: row for row in _ranked(digest, level)}
    places = {label: place for place, label in enumerate(won)}
    rows = worst(found.slices, found.confusions, by=level, metric=digest.main or "")
    rows.sort(key=lambda row: places.get(row.figure.slice, len(places)))
    return [
        Leaf(row, won.get(row.figure.slice), beside.get(row.figure.slice, {}), failed[row.figure.slice])
        for row in rows
    ]


def _ranked(digest: Digest, level: str) -> list[TreeRow]:
    ranked = fix_first(digest).tree
    if ranked is None:
        return []
    return ranked.leaves if level == "intent_l2" else ranked.tops


def _above(digest: Digest) -> dict[str, str | None]:
    samples = digest.tables.samples
    pairs = Counter(zip(samples["intent_l2"].to_pylist(), samples["intent_l1"].to_pylist(), strict=True))
    above: dict[str, str | None] = {}
    for (label, parent), _ in pairs.most_common():
        if label:
            above.setdefault(label, parent)
    return above
