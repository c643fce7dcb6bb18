"""Which slots were filled: the extractor of values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from evalkit.contracts import EvalRecord, SlotSpec
from evalkit.errors import UsageError
from evalkit.metrics.completion.said import Said, literal, said, whole

__all__ = ["Finding", "found", "is_value"]

_NOTHING: tuple[object, ...] = (None, "", [], {})


class Finding(NamedTuple):
    """A slot that was filled: the value, and where it stands.

    `turn` counts from 0; `span` is [start, end) in the text that `source` said in that turn. Both are null
    where the target reported the value itself.
    """

    slot: str
    value: object
    turn: int | None
    span: tuple[int, int] | None
    source: Literal["target", "user", "agent"]


def found(record: EvalRecord) -> list[Finding] | None:
    """The required slots that were filled, each with its evidence, in the order they are required.

    What the target reports decides, if it reports anything. Else a slot is filled where its value, else an
    alias, else its pattern stands in what user or agent said. Null where that cannot be known: no report, and
    nothing was said, or a slot does not say what to look for. Raises UsageError for a bad pattern.
    """
    required = {slot.name: slot for slot in record.required_slots}
    reported = _reported(record)
    if reported is not None:
        values = {name: reported[name] for name in required if reported.get(name) not in _NOTHING}
        return [Finding(name, value, None, None, "target") for name, value in values.items()]
    texts = said(record)
    patterns = {name: list(_patterns(slot)) for name, slot in required.items()}
    if texts is None or not all(patterns.values()):
        return None
    findings = (_first(name, patterns[name], texts) for name in required)
    return [finding for finding in findings if finding is not None]


def _reported(record: EvalRecord) -> Mapping[str, object] | None:
    """The target's own report of its slots, the last if it made several; null if it made none."""
    reports = [turn.filled_slots for turn in record.dialog if turn.filled_slots is not None]
    return record.filled_slots if record.filled_slots is not None or not reports else reports[-1]


def _patterns(slot: SlotSpec) -> Iterator[re.Pattern[str]]:
    """What to look for in plain texts, the surest sign first."""
    yield from (whole(way) for way in map(literal, (slot.value, *slot.aliases)) if way)
    if slot.pattern:
        try:
            yield re.compile(slot.pattern, re.IGNORECASE)
        except re.error as error:
            raise UsageError(
                f"slot {slot.name!r}: found pattern {slot.pattern!r} ({error}), wanted a regular expression."
            ) from None


def _first(slot: str, patterns: Sequence[re.Pattern[str]], texts: Sequence[Said]) -> Finding | None:
    """The first match of the first pattern that has one."""
    for pattern in patterns:
        for text in texts:
            span = next(text.spans(pattern), None)
            if span:
                return Finding(slot, text.text[slice(*span)], text.turn, span, text.source)
    return None


def is_value(value: object, slot: SlotSpec) -> bool:
    """Whether that is the slot's reference value, written in any of its ways."""
    way = literal(value)
    if way:
        return way in {literal(known) for known in (slot.value, *slot.aliases)}
    return type(value) is type(slot.value) and value == slot.value
