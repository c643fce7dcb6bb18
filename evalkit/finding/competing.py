"""Mentions that several slots could have: each goes to the slots that stand nearest to it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from evalkit.contracts import SlotSpec
from evalkit.finding.choosing import Nearness, Scored, as_range, role_of
from evalkit.finding.mentions import Mention
from evalkit.finding.said import Said
from evalkit.finding.typed.readings import Taken

__all__ = ["competed"]

_Every: TypeAlias = "Mapping[str, list[Mention]]"


def competed(required: Mapping[str, SlotSpec], every: _Every, texts: Sequence[Said]) -> dict[str, Scored]:
    """Each slot's own mentions with their nearness, out of all that could be its.

    Mentions inside a value of another slot's list are none. Slots of one type, and those with lists, compete for a
    mention: a slot to which nothing stands nearer goes first, then the nearest; the reference value is no slot's to
    lose. Begin and end of one type are the two mentions that fit best in that order.
    """
    return _scored(required, _outside(every, required), texts)


def _outside(
    every: Mapping[str, list[Mention]], required: Mapping[str, SlotSpec]
) -> dict[str, list[Mention]]:
    """The mentions that are no part of a value of a list: the 7 of a hotel called 7天 is no number."""
    places: dict[int, Taken] = {}
    for name, found in every.items():
        for one in found if required[name].values else ():
            places.setdefault(id(one.said), Taken()).take(one.start, one.end)
    free = Taken()
    return {
        name: [
            one
            for one in found
            if required[name].values or not places.get(id(one.said), free).holds(one.start, one.end)
        ]
        for name, found in every.items()
    }


def _scored(
    required: Mapping[str, SlotSpec], every: Mapping[str, list[Mention]], texts: Sequence[Said]
) -> dict[str, Scored]:
    """Each slot's mentions with their nearness, less those that stand nearer to another slot."""
    nearness = Nearness(texts, required.values())
    scores = {
        name: [(nearness.score(required[name], one), one) for one in found] for name, found in every.items()
    }
    claims = {name: _claims(found) for name, found in scores.items()}
    best: dict[_Place, _Claim] = {}
    for name, claimed in claims.items():
        for claim, one in claimed:
            place = _place(required[name], one)
            best[place] = max(best.get(place, claim), claim)
    own: dict[str, Scored] = {
        name: [
            (claim[1], one)
            for claim, one in claimed
            if one.right or claim >= best[_place(required[name], one)]
        ]
        for name, claimed in claims.items()
    }
    return own | _ranges(required, scores)


_Place: TypeAlias = "tuple[str | None, str, int, int]"
_Claim: TypeAlias = "tuple[bool, float]"


def _place(slot: SlotSpec, one: Mention) -> _Place:
    """Where slots of one type compete; a slot of no type and no list has its place for itself.

    A pattern of its own says what the slot is looked for by: what matches fills it, whatever else it fills.
    """
    alone = "" if slot.type or slot.values else slot.name
    return slot.type, alone, id(one.said), one.start


def _claims(found: Scored) -> list[tuple[_Claim, Mention]]:
    """Each mention with the slot's claim to it: whether none stands nearer, and how near it stands."""
    most = max((score for score, _ in found), default=0.0)
    return [((score == most, score), one) for score, one in found]


def _ranges(required: Mapping[str, SlotSpec], scores: Mapping[str, Scored]) -> dict[str, Scored]:
    """Of each begin and end of one type, without a reference value: the two mentions that fit, of each speaker."""
    roles = {
        name: role_of(name, slot.description)
        for name, slot in required.items()
        if slot.type in ("date", "time") and slot.value is None
    }
    found: dict[str, list[tuple[float, Mention]]] = {}
    for first, last in itertools.product(roles, roles):
        if (roles[first], roles[last], required[first].type) != ("begin", "end", required[last].type):
            continue
        for source in ("user", "agent"):
            both = as_range(
                *([one for one in scores[name] if one[1].said.source == source] for name in (first, last))
            )
            for name, mention in zip((first, last), both or (), strict=False):
                found.setdefault(name, []).append((1.0, mention))
    return dict(found)
