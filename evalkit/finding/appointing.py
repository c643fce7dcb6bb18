"""Appointments told in pieces: the day in one turn, the part of the day in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from evalkit.contracts import SlotSpec
from evalkit.finding.mentions import Mention, is_right

__all__ = ["joined"]


def joined(slot: SlotSpec, found: Sequence[Mention], day: date | None) -> list[Mention]:
    """The mentions of an appointment, each completed by what the same speaker said of it before.

    改成周五 after 明天上午 is Friday morning. Mentions of other types stay as they are.
    """
    if slot.type != "appointment":
        return list(found)
    known: dict[str, tuple[str, str]] = {"user": ("", ""), "agent": ("", "")}
    whole = []
    for one in found:
        told_day, told_part = _parts(one.value)
        before_day, before_part = known[one.said.source]
        parts = (told_day or before_day, told_part or before_part)
        known[one.said.source] = parts
        value = " ".join(part for part in parts if part)
        whole.append(one if one.right else replace(one, value=value, right=is_right(value, slot, day)))
    return whole


def _parts(value: str) -> tuple[str, str]:
    """The day and the time of a canonical appointment, either perhaps empty."""
    first, _, second = value.partition(" ")
    return ("", first) if ":" in first or "-" not in first else (first, second)
