"""Where a dialog mentions what can be a slot's value: by its ways of writing, its type, its pattern, its list."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeAlias

from evalkit.contracts import SlotSpec
from evalkit.errors import UsageError
from evalkit.finding.denial import corrects, negated, taken_back
from evalkit.finding.literals import any_of, literal, whole
from evalkit.finding.regexes import compiled, searchable
from evalkit.finding.said import Said
from evalkit.finding.typed import TYPES, canonical
from evalkit.finding.typed.readings import Reading, Taken

__all__ = ["Mention", "can_be_looked_for", "is_right", "mentions", "ways"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A place in plain text, `said.plain[start:end]`, with its canonical `value`.

    `right`: it is the reference value. `correcting`: it stands after words that correct something.
    """

    said: Said
    start: int
    end: int
    value: str
    right: bool
    correcting: bool = False


def can_be_looked_for(slot: SlotSpec) -> bool:
    """Whether a slot says what to look for in texts."""
    return bool(ways(slot) or slot.pattern or slot.values or slot.type in TYPES)


def ways(slot: SlotSpec) -> list[str]:
    """The ways to write the reference value, the longest first."""
    return sorted(
        {way for way in map(literal, (slot.value, *slot.aliases)) if way}, key=lambda way: (-len(way), way)
    )


def is_right(value: object, slot: SlotSpec, day: date | None) -> bool:
    """Whether that is the slot's reference value, in any writing."""
    written = literal(value)
    if not written:
        return type(value) is type(slot.value) and value == slot.value
    if any(whole(way).fullmatch(written) or way == written for way in ways(slot)):
        return True
    form = canonical(slot.type or "", value, day)
    return form is not None and any(_same(form, known) for known in _references(slot, day))


def _references(slot: SlotSpec, day: date | None) -> set[str]:
    """The reference value in canonical form."""
    forms = (canonical(slot.type or "", way, day) for way in (slot.value, *slot.aliases))
    return {form for form in forms if form}


def _same(form: str, known: str) -> bool:
    """Equal, but for a year that one of both does not tell."""
    return form == known or (("--" in (form[:2], known[:2])) and form[-5:] == known[-5:])


def mentions(slot: SlotSpec, said: Said, day: date | None) -> list[Mention]:
    """The mentions of a text that are neither denied nor taken back, from left to right.

    Raises UsageError for a bad pattern.
    """
    known = _references(slot, day)
    found: list[Mention] = []
    taken = Taken()
    for reading, right in _readings(slot, said, day):
        if said.span(reading.start, reading.end) and taken.take(reading.start, reading.end):
            is_known = right or any(_same(reading.value, form) for form in known)
            found.append(Mention(said, reading.start, reading.end, reading.value, is_known))
    kept = (one for one in found if not _is_void(one))
    return [
        replace(one, correcting=corrects(said.plain, one.start))
        for one in sorted(kept, key=lambda one: one.start)
    ]


def _is_void(mention: Mention) -> bool:
    text = mention.said.plain
    return negated(text, mention.start) or taken_back(text, mention.end)


_Found: TypeAlias = "Iterator[tuple[Reading, bool]]"


def _readings(slot: SlotSpec, said: Said, day: date | None) -> _Found:
    """What may be a value, the surest sign first, and whether it is the reference value as it is written."""
    yield from _written(slot, said.plain, day)
    yield from _listed(slot, said.plain)
    yield from _patterned(slot, said.plain)
    yield from _typed(slot, said.plain, day)


def _written(slot: SlotSpec, text: str, day: date | None) -> _Found:
    for way in ways(slot):
        for match in whole(way).finditer(text):
            yield Reading(match.start(), match.end(), canonical(slot.type or "", way, day) or way), True


def _listed(slot: SlotSpec, text: str) -> _Found:
    if slot.values and slot.type not in TYPES:
        for match in any_of(slot.values).finditer(text):
            yield Reading(match.start(), match.end(), match[0]), False


def _patterned(slot: SlotSpec, text: str) -> _Found:
    for match in _pattern(slot).finditer(searchable(text)) if slot.pattern else ():
        yield Reading(match.start(), match.end(), text[match.start() : match.end()]), False


def _typed(slot: SlotSpec, text: str, day: date | None) -> _Found:
    for reading in TYPES[slot.type](text, day) if slot.type in TYPES else ():
        if not slot.values or reading.value in slot.values:
            yield reading, False


def _pattern(slot: SlotSpec) -> Any:
    """The slot's pattern; it never takes longer than linear in the text."""
    try:
        return compiled(slot.pattern or "", ignore_case=True)
    except UsageError as error:
        raise UsageError(f"slot {slot.name!r}: {error}") from None
