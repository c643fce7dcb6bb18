"""Who is charged with what: the failures of a run by cause and by gate, beside the samples that could have failed.

The gates, their order and the reasons are those of the failures; nothing is judged here a second time. The charges of
the parts of a run add up to those of the run.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from evalkit.report.causes import SPREAD, Cause, is_spread
from evalkit.report.directions import EXAMPLES, Example
from evalkit.report.gains import Gain, won
from evalkit.report.lots import AtRisk, Lots, total, urn
from evalkit.report.reasons import Gate
from evalkit.report.remedies import remedy

__all__ = ["Charge", "Charges", "Risk"]

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

KEYS = 100
"""So many samples are named of those that are charged in several parts; of one part all are."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Samples that broke the same gate first, charged to one thing, in the order of the run.

    How many there are by right intent and by first reason, and how many break a later gate `again`; the first `keys`
    and the first different questions; what each loses, those apart that were not at risk of it.
    """

    gate: Gate
    by_label: Counter[str | None]
    by_kind: Counter[str]
    again: int
    keys: tuple[str, ...]
    examples: tuple[Example, ...]
    inside: Lots
    outside: Lots

    @property
    def n(self) -> int:
        """How many samples there are."""
        return self.by_kind.total()

    def plus(self, later: Charge) -> Charge:
        """The samples with those of later parts."""
        asked = {each.query for each in self.examples}
        others = (each for each in later.examples if each.query not in asked)
        return Charge(
            self.gate,
            self.by_label + later.by_label,
            self.by_kind + later.by_kind,
            self.again + later.again,
            (*self.keys, *later.keys)[:KEYS],
            (*self.examples, *others)[:EXAMPLES],
            self.inside.plus(later.inside),
            self.outside.plus(later.outside),
        )

    def told_by(self, parts: Sequence[Charge]) -> Charge:
        """The same samples, told in the order of their parts, of which a sample may be in several."""
        labels = dict.fromkeys(label for part in parts for label in part.by_label)
        shown: dict[str, Example] = {}
        for each in (each for part in parts for each in part.examples):
            shown.setdefault(each.query, each)
        return replace(
            self,
            by_label=Counter({label: self.by_label[label] for label in labels}),
            keys=tuple(dict.fromkeys(key for part in parts for key in part.keys)),
            examples=tuple(shown.values())[:EXAMPLES],
        )


@dataclass(frozen=True, slots=True)
class Risk:
    """The samples that could fail, by what at: how many are `alone`, and the clusters of the others."""

    alone: Counter[str] = field(default_factory=Counter)
    clusters: Mapping[str, array[int]] = field(default_factory=dict)

    def of(self, words: Iterable[str]) -> AtRisk:
        """Those that could fail at one of the words."""
        wanted = [*words]
        clusters = [np.array(self.clusters.get(word, ()), dtype=np.int64) for word in wanted]
        return AtRisk(sum(self.alone[word] for word in wanted), np.concatenate(clusters))

    def plus(self, other: Risk) -> Risk:
        """These and those."""
        return Risk(self.alone + other.alone, _added(self.clusters, other.clusters, array.__add__))


@dataclass(frozen=True, slots=True)
class Charges:
    """The charges of `n` samples, by cause, by gate, and by each kind of SPREAD causes as if they were one.

    `risks` has the samples that were judged, by the metric that counts them and the kind of names that they have.
    """

    n: int
    causes: Mapping[Cause, Charge]
    spread: Mapping[str, Charge]
    gates: Mapping[Gate, Charge]
    risks: Mapping[tuple[str, str], Risk]

    @property
    def everyone(self) -> AtRisk:
        """All samples that either passed or failed."""
        return self.risks["", ""].of([""])

    @property
    def n_judged(self) -> int:
        """How many they are."""
        return self.everyone.n

    def plus(self, later: Charges) -> Charges:
        """These samples and those of later parts."""
        return Charges(
            self.n + later.n,
            _added(self.causes, later.causes, Charge.plus),
            _added(self.spread, later.spread, Charge.plus),
            _added(self.gates, later.gates, Charge.plus),
            _added(self.risks, later.risks, Risk.plus),
        )

    def found(self) -> dict[Cause, Charge]:
        """The causes of the run: those that are spread evenly over many documents or intents are one."""
        found = dict(self.causes)
        for kind in SPREAD:
            mine = sorted(
                (cause for cause in found if cause.kind == kind), key=lambda cause: (-found[cause].n, cause)
            )
            if is_spread([found[cause].n for cause in mine]):
                found = {cause: charge for cause, charge in found.items() if cause.kind != kind}
                whole = self.spread[kind].told_by([self.causes[cause] for cause in mine])
                found[Cause(kind, tuple(cause.subject[0] for cause in mine))] = whole
        return found

    def at_risk(self, cause: Cause) -> AtRisk:
        """The samples that the cause could have befallen."""
        cure = remedy(cause.kind)
        every, wanted = self.risks[cure.metric, ""].of([""]), cure.wanted(cause)
        if wanted is None:
            return every
        hit = self.risks[cure.metric, cure.words].of(wanted)
        return every.less(hit) if cure.others else hit

    def gain(self, at_risk: AtRisk, inside: Lots, outside: Lots) -> Gain:
        """How far the share of passing samples would rise if what these lose were mended.

        The interval is over the samples `at_risk`, to which those `outside` are added.
        """
        rate = inside.whole and outside.whole
        drawn = urn(at_risk, inside, outside)
        return won(drawn, total(inside, outside), is_rate=rate, whole=self.n_judged)


def _added(
    first: Mapping[_Key, _Value], second: Mapping[_Key, _Value], plus: Callable[[_Value, _Value], _Value]
) -> dict[_Key, _Value]:
    """What stands under each key in either, added up where it stands in both."""
    return {
        **first,
        **{key: plus(first[key], value) if key in first else value for key, value in second.items()},
    }
