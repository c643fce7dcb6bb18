"""Chinese dates and times of day, read against the shop's clock: `后天下午` is 2026-08-28 下午."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

__all__ = ["Moment", "moment"]

PERIODS = ("上午", "下午", "晚上")

_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_NUMBER = r"(\d{1,2}|[零〇一二两三四五六七八九十]{1,3})"
_DAY_WORDS = (("大后天", 3), ("后天", 2), ("后日", 2), ("明", 1), ("今", 0))
_PERIOD_WORDS = {
    "上午": ("上午", "早上", "早晨", "清晨", "一早", "今早", "明早", "早间"),
    "下午": ("下午", "午后", "中午", "傍晚"),
    "晚上": ("晚上", "今晚", "明晚", "晚间", "夜里", "夜间"),
}
_NOON, _EVENING = 12, 18


class Moment(NamedTuple):
    """What a text says of a time: the day, the part of the day, either of them perhaps not."""

    day: date | None
    period: str | None


def moment(text: str, today: date) -> Moment:
    """The first day and the first part of a day that `text` names; a day without a year is the next such day."""
    return Moment(_day(text, today), _period(text))


def _day(text: str, today: date) -> date | None:
    for reading in _READINGS:
        found = reading(text, today)
        if found is not None:
            return found
    return None


def _iso(text: str, _today: date) -> date | None:
    match = re.search(r"(20\d\d)[-/.年](\d{1,2})[-/.月](\d{1,2})", text)
    return _valid(*(int(group) for group in match.groups())) if match else None


def _month_and_day(text: str, today: date) -> date | None:
    match = re.search(_NUMBER + r"月" + _NUMBER + r"[日号]?", text)
    match = match or re.search(r"(?<![\d.])(\d{1,2})[./](\d{1,2})(?![\d.])", text)
    if match is None:
        return None
    month, day = _number(match[1]), _number(match[2])
    found = _valid(today.year, month, day)
    return _valid(today.year + 1, month, day) if found and found < today else found


def _day_of_month(text: str, today: date) -> date | None:
    match = re.search(r"(?<![\d月路街道巷弄段村里])" + _NUMBER + r"[号日](?![楼院线门馆店座栋室])", text)
    if match is None:
        return None
    day = _number(match[1])
    first = today.replace(day=1) if day >= today.day else (today.replace(day=1) + timedelta(days=32))
    return _valid(first.year, first.month, day)


def _weekday(text: str, today: date) -> date | None:
    match = re.search(r"(下下|下|这|本)?个?(?:周|星期|礼拜)([一二三四五六日天末])", text)
    if match is None:
        return None
    wanted = {"末": 5, "日": 6, "天": 6}.get(match[2], _DIGITS.get(match[2], 1) - 1)
    weeks = {"下": 1, "下下": 2}.get(match[1] or "", 0)
    found = today + timedelta(days=wanted - today.weekday(), weeks=weeks)
    return found + timedelta(weeks=1) if found < today else found


def _days_from_now(text: str, today: date) -> date | None:
    match = re.search(_NUMBER + r"天(?:之|以)?后", text)
    if match:
        return today + timedelta(days=_number(match[1]))
    for word, days in _DAY_WORDS:
        if re.search(rf"{word}(?=天|日|早|晚|上|下)" if len(word) == 1 else word, text):
            return today + timedelta(days=days)
    return None


_READINGS: tuple[Callable[[str, date], date | None], ...] = (
    _iso,
    _month_and_day,
    _weekday,
    _days_from_now,
    _day_of_month,
)


def _period(text: str) -> str | None:
    words = [(text.find(word), period) for period, known in _PERIOD_WORDS.items() for word in known]
    said = min((place, period) for place, period in [*words, (len(text), "")] if place >= 0)[1]
    return said or _hour(text)


def _hour(text: str) -> str | None:
    match = re.search(_NUMBER + r"(?:点|时(?!间|候)|[:：]\d\d)", text)
    if match is None:
        return None
    hour = _number(match[1])
    return PERIODS[(hour >= _NOON) + (hour >= _EVENING)]


def _number(text: str) -> int:
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return (_DIGITS.get(tens, 1) * 10 if ten else 0) + _DIGITS.get(ones, 0)


def _valid(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
