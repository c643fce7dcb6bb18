"""Which slots were filled: what the user states, what the agent confirms, what the target reports.

Texts of all turns are searched. The last correction wins, what is denied or only asked does not count.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord, SlotSpec
from evalkit.finding.appointing import joined
from evalkit.finding.choosing import Scored, last_valid
from evalkit.finding.competing import competed
from evalkit.finding.denial import affirms, asks, confirms
from evalkit.finding.mentions import Mention, can_be_looked_for, is_right, mentions
from evalkit.finding.said import Said, said
from evalkit.finding.typed import canonical

__all__ = ["Evidence", "Finding", "Trust", "evidence", "found", "is_value", "reports"]

Trust = Literal["report", "texts"]
"""Who decides: the target's own report where there is one, or only what was said."""

_NOTHING: tuple[object, ...] = (None, "", [], {})


class Finding(NamedTuple):
    """A slot that was filled: the value, and where it stands.

    `value` is as it was written or reported, `canonical` its one writing. `turn` counts from 0; `span` is
    [start, end) in the text that `source` said in that turn; both are null where the target reported it.
    """

    slot: str
    value: object
    canonical: str
    turn: int | None
    span: tuple[int, int] | None
    source: Literal["target", "user", "agent"]
    evidence: Literal["reported", "stated", "confirmed"]
    correcting: bool = False


class Evidence(NamedTuple):
    """What the three sources say of one slot; null where a source says nothing.

    `sought` is false where the texts could not be searched: nothing recorded, or nothing to look for.
    """

    slot: SlotSpec
    stated: Finding | None
    confirmed: Finding | None
    reported: Finding | None
    sought: bool


def found(record: EvalRecord, *, trust: Trust = "report") -> list[Finding] | None:
    """The required slots that were filled, each with its evidence, in the order they are required.

    What the target reports decides, if it reports anything and is trusted. Else the user's statement, or
    where there is none, or only the agent has the reference value and the user corrects nothing, what the
    agent confirms. Null where that cannot be known: nothing was said, or a slot does not say what to look
    for. Raises UsageError for a bad pattern.
    """
    required = _required(record)
    if not required:
        return []
    report = _report(record) if trust == "report" else None
    if report is not None:
        return [one for slot in required.values() if (one := _reported(slot, report, _day(record)))]
    every = _in_texts(record, required)
    if every is None or not all(one.sought for one in every):
        return None
    decided = (_decided(one, _day(record)) for one in every)
    return [finding for finding in decided if finding is not None]


def evidence(record: EvalRecord) -> list[Evidence]:
    """What each source says of each required slot, in order. Raises UsageError for a bad pattern."""
    required = _required(record)
    report = _report(record) or {}
    every = _in_texts(record, required) if required else []
    if every is None:
        every = [Evidence(slot, None, None, None, sought=False) for slot in required.values()]
    return [one._replace(reported=_reported(one.slot, report, _day(record))) for one in every]


def is_value(finding: Finding, slot: SlotSpec, record: EvalRecord) -> bool:
    """Whether a finding is the slot's reference value, in any writing; 明天 counts from the record's day."""
    return any(is_right(value, slot, _day(record)) for value in (finding.value, finding.canonical))


def reports(record: EvalRecord) -> bool:
    """Whether the target makes a report of its slots."""
    return _report(record) is not None


def _required(record: EvalRecord) -> dict[str, SlotSpec]:
    return {slot.name: slot for slot in record.required_slots}


def _day(record: EvalRecord) -> date | None:
    return record.asked_at.date() if record.asked_at else None


def _report(record: EvalRecord) -> Mapping[str, object] | None:
    """The target's own report of its slots, the last if it made several; null if it made none."""
    reports = [turn.filled_slots for turn in record.dialog if turn.filled_slots is not None]
    return record.filled_slots if record.filled_slots is not None or not reports else reports[-1]


def _reported(slot: SlotSpec, report: Mapping[str, object], day: date | None) -> Finding | None:
    value = report.get(slot.name)
    if value in _NOTHING:
        return None
    form = canonical(slot.type or "", value, day) or str(value)
    return Finding(slot.name, value, form, None, None, "target", "reported")


def _in_texts(record: EvalRecord, required: Mapping[str, SlotSpec]) -> list[Evidence] | None:
    """What user and agent say of each slot; null where nothing was recorded."""
    texts = said(record)
    if texts is None:
        return None
    day = _day(record)
    every = {
        name: joined(slot, [one for text in texts for one in mentions(slot, text, day)], day)
        for name, slot in required.items()
    }
    scored = competed(required, every, texts)
    return [
        Evidence(
            slot,
            _finding(slot, _stated(slot, scored[name]), "stated"),
            _finding(slot, _confirmed(slot, scored[name], texts), "confirmed"),
            None,
            can_be_looked_for(slot),
        )
        for name, slot in required.items()
    ]


def _stated(slot: SlotSpec, found: Scored) -> Mention | None:
    return _standing(slot, [(score, one) for score, one in found if one.said.source == "user"])


def _confirmed(slot: SlotSpec, found: Scored, texts: Sequence[Said]) -> Mention | None:
    """What the agent says of its own, less what it only asks or offers, unless the user then says yes.

    Where a type alone tells what to look for, another value than the reference has to be said as the user's:
    the shop's own phone is none of theirs.
    """
    answers = {id(text): answer for text, answer in itertools.pairwise(texts)}
    of_agent = [(score, one) for score, one in found if one.said.source == "agent"]
    firm = [
        (score, one)
        for score, one in of_agent
        if not (asks(one.said.plain, one.start, one.end) or _is_offered(slot, one, of_agent))
        or (id(one.said) in answers and affirms(answers[id(one.said)].plain))
    ]
    valued = (slot.value is not None or slot.aliases) and not slot.pattern
    return _standing(
        slot,
        [
            (score, one)
            for score, one in firm
            if not valued or one.right or confirms(one.said.plain, one.start)
        ],
    )


def _is_offered(slot: SlotSpec, one: Mention, found: Scored) -> bool:
    """Whether it stands in one text with other values of a list, of which none is the reference value."""
    others = (other for _, other in found if other.said is one.said and other.value != one.value)
    return bool(slot.values) and not one.right and any(others)


def _standing(slot: SlotSpec, found: Scored) -> Mention | None:
    """The mention that stands; the reference value, where it was said, gives way only to a correction."""
    right = [one for _, one in found if one.right]
    if slot.value is None and not slot.aliases:
        return last_valid(found)
    if right:
        later = [one for _, one in found if one.correcting and not one.right and _is_after(one, right[-1])]
        return later[-1] if later else right[-1]
    return last_valid(found)


def _is_after(one: Mention, other: Mention) -> bool:
    return (one.said.turn, one.start) > (other.said.turn, other.start)


def _finding(slot: SlotSpec, mention: Mention | None, kind: Literal["stated", "confirmed"]) -> Finding | None:
    if mention is None:
        return None
    text = mention.said
    span = text.span(mention.start, mention.end)
    value = text.text[slice(*span)] if span else ""
    return Finding(
        slot.name, value, mention.value, text.turn, span, text.source, kind, correcting=mention.correcting
    )


def _decided(one: Evidence, day: date | None) -> Finding | None:
    """The user's statement, unless only the agent has the reference value and the user corrects nothing."""
    stated, confirmed = one.stated, one.confirmed
    if stated is None or confirmed is None or stated.correcting:
        return stated or confirmed
    agent_alone = is_right(confirmed.canonical, one.slot, day) and not is_right(
        stated.canonical, one.slot, day
    )
    return confirmed if agent_alone else stated
