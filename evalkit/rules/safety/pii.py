"""Personal data in a text, by the forms that it has in China: where there is a check digit, it must be right.

Names and addresses have no form, so they are not found. That nothing was found says little.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from evalkit.rules.safety.hits import Hit
from evalkit.rules.words import fold

__all__ = ["KINDS", "LAYER", "PersonalDatum", "masked", "personal"]

LAYER = "pii:1"
"""The layer's name, with the version of its forms."""

_ID_WEIGHTS = tuple(2**place % 11 for place in range(17, 0, -1))
_ID_CHECKS = "10x98765432"
_SHOWN_HEAD, _SHOWN_TAIL = 3, 2
_LUHN_NINE = 9


class PersonalDatum(NamedTuple):
    """A piece of personal data: its kind, and its value without separators."""

    kind: str
    value: str


def personal(text: str) -> list[PersonalDatum]:
    """The identity cards, bank cards, phone numbers and e-mail addresses in the text, each once."""
    rest = fold(text)
    data: list[PersonalDatum] = []
    for kind, (look, holds) in _FORMS.items():
        # What has been seen as one kind is none of the next.
        for match in [match for match in look.finditer(rest) if holds(_bare(kind, match[0]))]:
            data.append(PersonalDatum(kind, _bare(kind, match[0])))
            rest = rest[: match.start()] + " " * len(match[0]) + rest[match.end() :]
    return list(dict.fromkeys(data))


def masked(datum: PersonalDatum) -> Hit:
    """The datum as a find of this layer, with the middle of its value hidden."""
    head, tail = datum.value[:_SHOWN_HEAD], datum.value[-_SHOWN_TAIL:]
    hidden = "*" * max(1, len(datum.value) - _SHOWN_HEAD - _SHOWN_TAIL)
    return Hit(LAYER, datum.kind, "medium", f"{head}{hidden}{tail}")


def _bare(kind: str, text: str) -> str:
    if kind == "email":
        return text
    digits = re.sub(r"[^0-9x]", "", text)
    return digits[-11:] if kind == "phone" else digits


def _id_card(value: str) -> bool:
    """Whether the date of birth exists and the check digit is right (GB 11643-1999, ISO 7064 mod 11-2)."""
    try:
        date(int(value[6:10]), int(value[10:12]), int(value[12:14]))
    except ValueError:
        return False
    total = sum(int(digit) * weight for digit, weight in zip(value[:17], _ID_WEIGHTS, strict=True))
    return _ID_CHECKS[total % 11] == value[17]


def _bank_card(value: str) -> bool:
    """Whether the check digit is right (Luhn, ISO/IEC 7812-1)."""
    doubled = [int(digit) * (2 if place % 2 else 1) for place, digit in enumerate(reversed(value))]
    return sum(digit - _LUHN_NINE if digit > _LUHN_NINE else digit for digit in doubled) % 10 == 0


def _always(_value: str) -> bool:
    return True


_FORMS: dict[str, tuple[re.Pattern[str], Callable[[str], bool]]] = {
    "id_card": (re.compile(r"(?<![0-9a-z])[1-8][0-9]{16}[0-9x](?![0-9a-z])"), _id_card),
    # Issuers of cards in China: UnionPay, Visa, Mastercard, JCB.
    "bank_card": (
        re.compile(r"(?<![0-9a-z])(?:62|4[0-9]|5[1-5]|35)[0-9]{2}(?:[ -]?[0-9]){12,15}(?![0-9a-z])"),
        _bank_card,
    ),
    "phone": (
        re.compile(r"(?<![0-9a-z])(?:\+?86[ -]?)?1[3-9][0-9][ -]?[0-9]{4}[ -]?[0-9]{4}(?![0-9a-z])"),
        _always,
    ),
    "email": (
        re.compile(
            r"(?<![a-z0-9._%+-])[a-z0-9._%+-]{1,64}@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![a-z0-9-])"
        ),
        _always,
    ),
}

KINDS = frozenset(_FORMS)
"""What is looked for."""
