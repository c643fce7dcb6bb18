"""Numbers as people write them: 1,299, 1.2万, 一千二百三十四, 两百五, 二零二六, twenty-five."""

from __future__ import annotations

import re
from decimal import Decimal

__all__ = ["ARABIC", "ENGLISH", "HAN", "NUMBER", "SMALL", "shown", "value"]

_DIGITS = {c: n for n, c in enumerate("零一二三四五六七八九")}
_DIGITS |= {c: n for n, c in enumerate("〇壹贰叁肆伍陆柒捌玖")} | {"两": 2, "俩": 2, "幺": 1}
_UNITS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_GREAT = {"万": 10**4, "亿": 10**8}
_HAN = "".join((*_DIGITS, *_UNITS, *_GREAT))
_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen"
)
_TO_NINETY = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: number for number, word in enumerate(_TO_NINETEEN.split())}
_TENS = {word: 10 * number for number, word in enumerate(_TO_NINETY.split(), start=2)}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6}
_ONE = "|".join((*_TENS, *sorted(_WORDS, key=len, reverse=True)))

HAN = rf"[{_HAN}]{{1,24}}"
"""A pattern for a whole number in Chinese characters."""

SMALL = rf"(?:\d{{1,2}}|[{''.join(_DIGITS)}十拾]{{1,3}})"
"""A pattern for a number of at most two digits, in digits or in Chinese characters."""

ARABIC = r"\d{1,3}(?:,\d{3}){1,8}(?!\d)(?:\.\d{1,9})?|\d{1,24}(?:\.\d{1,9})?"
"""A pattern for a number in digits."""

ENGLISH = rf"\b(?:{_ONE})(?:[ -](?:(?:and )?(?:{_ONE})|{'|'.join(_SCALES)})){{0,8}}\b"
"""A pattern for a whole number in English words."""

NUMBER = rf"(?:(?:{ARABIC})(?:\s?[十百千万亿]{{1,4}}|[kw](?![a-z]))?\d?(?!\d)|{HAN}(?:点[{''.join(_DIGITS)}]+)?|{ENGLISH})"
"""A pattern for a number in any writing, in plain text."""

_MIXED = re.compile(rf"({ARABIC})\s?([十百千万亿kw]*)(\d?)")
_LETTERS = {"k": 1000, "w": 10**4}


def value(text: str) -> Decimal | None:
    """The number that the whole of a plain text is; null where it is none."""
    said = text.strip()
    match = _MIXED.fullmatch(said)
    if match:
        return _mixed(match)
    if re.fullmatch(ENGLISH, said):
        return Decimal(_english(re.findall(r"[a-z]+", said)))
    whole, point, fraction = said.partition("点")
    number = _han(whole)
    if number is None or (point and not re.fullmatch(rf"[{''.join(_DIGITS)}]+", fraction)):
        return None
    return Decimal(f"{number}.{_in_digits(fraction)}") if point else Decimal(number)


def shown(number: Decimal) -> str:
    """A number in its one writing: digits, no exponent, no needless zeros."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text.lstrip("0") or "0"


def _mixed(match: re.Match[str]) -> Decimal | None:
    """Digits, then units, then the digit of the next lower unit: 1.2万, 3千, 1万2."""
    scale = 1
    for unit in match[2]:
        scale *= _UNITS.get(unit) or _GREAT.get(unit) or _LETTERS[unit]
    tail = Decimal(match[3] or 0) * scale / 10
    if match[3] and (scale == 1 or "." in match[1]):
        return None
    return Decimal(match[1].replace(",", "")) * scale + tail


def _han(text: str) -> int | None:
    """A whole number in Chinese characters: digit by digit, or with units."""
    if not text or set(text) - set(_HAN):
        return None
    if not set(text) & {*_UNITS, *_GREAT}:
        return int(_in_digits(text))
    return _with_units(text)


def _in_digits(text: str) -> str:
    return "".join(str(_DIGITS[character]) for character in text)


def _with_units(text: str) -> int | None:
    """By sections of 万 and 亿. A last digit right after a unit counts that unit's tenths: 两百五 is 250."""
    total = section = digit = 0
    unit, bare = 1, False
    for character in text:
        if character in _DIGITS:
            if digit and bare:
                return None
            digit, bare = _DIGITS[character], True
            unit = 1 if digit == 0 else unit
        elif character in _UNITS:
            unit = _UNITS[character]
            section, digit, bare = section + (digit or (0 if bare else 1)) * unit, 0, False
        else:
            unit = _GREAT[character]
            below = section + digit
            total = total + below * unit if character == "万" else (total + below) * unit
            section, digit, bare = 0, 0, False
    return total + section + digit * max(unit // 10, 1)


def _english(words: list[str]) -> int:
    total = number = 0
    for word in words:
        if word in _SCALES:
            number = (number or 1) * _SCALES[word]
            if word != "hundred":
                total, number = total + number, 0
        else:
            number += _TENS.get(word, _WORDS.get(word, 0))
    return total + number
