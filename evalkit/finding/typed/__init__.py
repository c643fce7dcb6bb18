"""Typed values in plain text, each with its one canonical writing: 明天 is 2026-08-27, 两百五 is 250."""

from __future__ import annotations

from datetime import date

from evalkit.finding.said import plain
from evalkit.finding.typed.amounts import numbers, sums
from evalkit.finding.typed.contacts import emails, order_ids, phones
from evalkit.finding.typed.dates import days
from evalkit.finding.typed.names import addresses, persons
from evalkit.finding.typed.numerals import shown, value
from evalkit.finding.typed.readings import Reader, Reading
from evalkit.finding.typed.times import appointments, times

__all__ = ["TYPES", "canonical"]

TYPES: dict[str, Reader] = {
    "address": addresses,
    "appointment": appointments,
    "date": days,
    "email": emails,
    "money": sums,
    "number": numbers,
    "order_id": order_ids,
    "person": persons,
    "phone": phones,
    "time": times,
}
"""The types whose values are known by their form. `enum` is known by its list of values instead."""


def canonical(kind: str, text: object, today: date | None = None) -> str | None:
    """The one writing of a value that is the whole of a text; null where it is none of that type.

    A canonical writing is its own: `canonical(kind, canonical(kind, text)) == canonical(kind, text)`. A text of
    more than the value, a reference such as `周一至周日 10:00-22:00`, is none.
    """
    if kind not in TYPES or isinstance(text, bool) or not isinstance(text, (str, int, float)):
        return None
    said = plain(str(text)).text.strip()
    if kind in ("phone", "order_id") and said.isascii() and said.isdigit():
        return said
    if kind in ("number", "money") and (bare := value(said)) is not None:
        return shown(bare)
    if kind in ("person", "address"):
        return "".join(said.split()) if kind == "address" else " ".join(said.split()) or None
    readings = list(TYPES[kind](said, today)) or (list(numbers(said, today)) if kind == "money" else [])
    return readings[0].value if len(readings) == 1 and _covers(readings[0], said) else None


def _covers(reading: Reading, text: str) -> bool:
    """Whether little but marks stands beside the reading."""
    rest = text[: reading.start] + text[reading.end :]
    return not any(character.isalnum() for character in rest)
