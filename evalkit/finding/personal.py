"""Personal data in a text, by the forms that it has in China: where there is a check digit, it must be right.

Names and addresses have no form, so they are not found. That nothing was found says little.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date
from typing import NamedTuple

from evalkit.finding.folding import fold
from evalkit.finding.said import plain

__all__ = ["KINDS", "PersonalDatum", "masked", "personal"]

_ID_WEIGHTS = tuple(2**place % 11 for place in range(17, 0, -1))
_ID_CHECKS = "10x98765432"
_LUHN_NINE = 9


class PersonalDatum(NamedTuple):
    """A piece of personal data: its kind, and its value without separators."""

    kind: str
    value: str


class _Form(NamedTuple):
    """How one kind is written, in a head and a tail that may be shown and a middle, and whether it can be one.

    `mask` stands for the middle. `always_masked`: even where the check fails, as a mistyped number is
    somebody's all the same.
    """

    look: re.Pattern[str]
    holds: Callable[[str], bool]
    mask: str
    always_masked: bool = True


def personal(text: str) -> list[PersonalDatum]:
    """The identity cards, bank cards, phone numbers and e-mail addresses in the text, each once."""
    rest = fold(text)
    data: list[PersonalDatum] = []
    for kind, form in _FORMS.items():
        # What has been seen as one kind is none of the next.
        for match in [match for match in form.look.finditer(rest) if _is_sure(form, match)]:
            data.append(PersonalDatum(kind, _value(match)))
            rest = rest[: match.start()] + " " * len(match[0]) + rest[match.end() :]
    return list(dict.fromkeys(data))


def masked(text: str) -> str:
    """The text without the middle of each such number, and of the names before an @: 138****8000.

    An identity number needs no right check digit for that, nor does a number have to stand alone. Everything else stays as it is.
    """
    folded, places = _seen(text)
    parts, end = [], 0
    for start, stop, mask in sorted(_middles(folded)):
        first, last = places[start], places[stop]
        if first >= end:
            parts += [text[end:first], mask]
            end = last
    return "".join([*parts, text[end:]])


def _seen(text: str) -> tuple[str, list[int]]:
    """The text as it is compared, without what nobody sees, and where in the text each character comes from."""
    folded, origin = plain(text)
    kept = [place for place, char in enumerate(folded) if unicodedata.category(char) != "Cf"]
    starts = kept if origin is None else [origin[place][0] for place in kept]
    return "".join([folded[place] for place in kept]), starts


def _middles(folded: str) -> Iterator[tuple[int, int, str]]:
    """Where the middles of all values stand, from the end of the head to the begin of the tail."""
    for form in _FORMS.values():
        for match in form.look.finditer(folded):
            if form.always_masked or form.holds(_value(match)):
                yield match.end("head"), match.start("tail"), form.mask


def _is_sure(form: _Form, match: re.Match[str]) -> bool:
    """Whether the value can be one, and is no part of a longer word, as that of an order may be."""
    around = (
        match.string[max(0, match.start() - 1) : match.start()] + match.string[match.end() : match.end() + 1]
    )
    return form.holds(_value(match)) and not re.search("[a-z]", around)


def _value(match: re.Match[str]) -> str:
    written = match[0][match.start("head") - match.start() : match.end("tail") - match.start()]
    return written if "@" in written else re.sub(r"[ -]", "", written)


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


def _form(head: str, middle: str, tail: str) -> re.Pattern[str]:
    return re.compile(f"(?P<head>{head}){middle}(?P<tail>{tail})")


_ALONE, _ENDS = "(?<![0-9])", "(?![0-9])"
_FORMS: dict[str, _Form] = {
    "id_card": _Form(
        _form(_ALONE + "[1-8][0-9]{5}", "[0-9]{8}", "[0-9]{3}[0-9x]" + _ENDS), _id_card, "********"
    ),
    # Issuers of cards in China: UnionPay, Visa, Mastercard, JCB. Other long numbers are orders and parcels.
    "bank_card": _Form(
        _form(
            _ALONE + "(?:62|4[0-9]|5[1-5]|35)[0-9]{2}",
            "(?:[ -]?[0-9]){8,11}[ -]?",
            "[0-9](?:[ -]?[0-9]){3}" + _ENDS,
        ),
        _bank_card,
        "********",
        always_masked=False,
    ),
    "phone": _Form(
        re.compile(
            _ALONE + r"(?:\+?86[ -]?)?(?P<head>1[3-9][0-9])[ -]?[0-9]{4}[ -]?(?P<tail>[0-9]{4})" + _ENDS
        ),
        _always,
        "****",
    ),
    "email": _Form(
        _form(
            "(?<![a-z0-9._%+-])[a-z0-9._%+-]",
            "[a-z0-9._%+-]{0,63}",
            r"@(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}(?![a-z0-9-])",
        ),
        _always,
        "***",
    ),
}

KINDS = frozenset(_FORMS)
"""What is looked for."""
