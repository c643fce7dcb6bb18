"""How people and orders are reached: phone numbers, mail addresses, order ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from evalkit.finding.typed.readings import Reading, Taken, apart, each

__all__ = ["emails", "order_ids", "phones"]

_HAN_DIGITS = str.maketrans("零〇一二三四五六七八九幺", "001234567891")
_MOBILE = re.compile(
    r"(?<![a-z0-9])(?:(?:\+|00)?86[- ]?)?(1[3-9]\d(?:(?:[- ]?\d){8}|[，、,.]\d{4}[，、,.]\d{4}))(?!\d)"
)
_SPOKEN = re.compile(
    r"[幺一][- ，、,]?(?:[零〇一二三四五六七八九幺][- ，、,]?){9}[零〇一二三四五六七八九幺](?![零〇一二三四五六七八九幺])"
)
_LAND = re.compile(
    r"(?<![a-z0-9+])(?:\(?0\d{2,3}\)?[- ]?\d{7,8}(?:(?:-|转)\d{1,5})?|[48]00[- ]?(?:\d{3}[- ]?\d{4}|\d{4}[- ]?\d{3})|[2-8]\d{7})(?![\d-])"
)
_AMERICAN = re.compile(
    r"(?<![a-z0-9])(?:\+?1[- ]?)?(\(?\d{3}\)?[- .]?\d{3}[- .]\d{4}|\d{3}[2-9]\d{6})(?![\d-])"
)
_ABROAD = re.compile(r"\+(?!86)\d{1,3}(?:[- ]?\(?\d{1,4}\)?){2,6}(?!\d)")
_EMAIL = re.compile(r"(?<![\w.+-])[\w+-][\w.+-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)+(?![\w@])", re.ASCII)
_ORDER = re.compile(
    r"(?<![a-z0-9@._+(-])(?:[a-z]{1,5}[-_ ]?\d{3,24}(?:-\d{2,})*|\d{6,24}(?:-\d{3,})*|(?<=单号)\d{4,5})(?![a-z0-9@])(?!-\d|\.\d)"
)
_PREFIX_WORD = re.compile(r"^(?:is|id|no|it|to|for|of|my|from|order|was|at|on|in|by|about|the)(?=[-_ ])[-_ ]")
_FEWEST_DIGITS = 6
_LENGTHS = 7, 15


def phones(text: str, _today: date | None) -> Iterator[Reading]:
    """The phone numbers in a plain text, as digits alone; a Chinese mobile number without its +86."""
    spoken = each(_SPOKEN, text, _spoken)
    found = (
        *each(_MOBILE, text, lambda match: _digits(match[1])),
        *spoken,
        *each(_ABROAD, text, _abroad),
        *each(_AMERICAN, text, lambda match: _digits(match[1])),
        *each(_LAND, text, lambda match: _digits(match[0])),
    )
    yield from apart(found)


def emails(text: str, _today: date | None) -> Iterator[Reading]:
    """The mail addresses in a plain text, in small letters."""
    yield from each(_EMAIL, text, lambda match: match[0])


def order_ids(text: str, today: date | None) -> Iterator[Reading]:
    """What can be the id of an order: letters and digits, or six digits and more, that are no phone number.

    Written in capitals, without spaces and dashes. `订单` or `order` before it overrules the look of a phone.
    """
    taken = Taken()
    for phone in phones(text, today):
        if _is_surely_phone(text, phone):
            taken.take(phone.start, phone.end)
    for reading in each(_ORDER, text, _order):
        if not taken.holds(reading.start, reading.end):
            yield reading


def _is_surely_phone(text: str, phone: Reading) -> bool:
    if re.search(
        r"(?:订单|单号|编号|order)[^,，。;；\n]{0,12}$", text[max(0, phone.start - 18) : phone.start]
    ):
        return False
    return _MOBILE.fullmatch(phone.value) is not None or not text[phone.start : phone.end].isdigit()


def _order(match: re.Match[str]) -> str | None:
    said = _PREFIX_WORD.sub("", match[0])
    bare = said.isdigit() and said == match[0]
    return re.sub(r"[-_ ]", "", said).upper() if bare or len(_digits(said)) >= _FEWEST_DIGITS else None


def _spoken(match: re.Match[str]) -> str | None:
    digits = _digits(match[0].translate(_HAN_DIGITS))
    return digits if _MOBILE.fullmatch(digits) else None


def _abroad(match: re.Match[str]) -> str | None:
    digits = _digits(match[0])
    return digits if _LENGTHS[0] <= len(digits) <= _LENGTHS[1] else None


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)
