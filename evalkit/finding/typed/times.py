"""Times of day and appointments: 下午三点半 is 15:30, 明天上午 is 2026-08-27 上午."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import date

from evalkit.finding.typed.dates import days
from evalkit.finding.typed.numerals import ENGLISH, SMALL, value
from evalkit.finding.typed.readings import Reading, apart, each

__all__ = ["appointments", "periods", "times"]

_PERIODS = {
    "上午": "上午|早上|早晨|清晨|凌晨|一早|早间|(?<=[今明])早|in the morning|morning",
    "下午": "下午|午后|中午|傍晚|in the afternoon|afternoon",
    "晚上": "晚上|晚间|夜里|夜间|夜晚|(?<=[今明当])晚|in the evening|at night|evening|tonight",
}
_PERIOD = {name: re.compile(words) for name, words in _PERIODS.items()}
_BEFORE = r"(?:(?P<before>上午|早上|早晨|清晨|凌晨|下午|午后|中午|傍晚|晚上|晚间|夜里|半夜|今晚|明晚|今早|明早)的?\s?)?"
_AFTER = (
    r"(?:\s?(?P<after>a\.?m\b\.?|p\.?m\b\.?|in the morning|in the afternoon|in the evening|at night|o'?clock)"
    r"(?:\s(?P<later>in the morning|in the afternoon|in the evening|at night))?)?"
)
_N = SMALL
_COLON = re.compile(rf"{_BEFORE}(?<![\d:])(?P<h>\d{{1,2}}):(?P<m>[0-5]\d)(?!\d)(?::[0-5]\d)?{_AFTER}")
_POINT = re.compile(
    rf"{_BEFORE}(?<![\d.快慢多少有早晚好大小便宜])(?P<h>{_N})(?:点|时(?![间候长段]))(?!\d*[元块])"
    rf"(?:(?P<half>半)|(?P<quarter>[一三])刻|(?P<m>{_N})分?|[钟整])?(?P<adverb>[儿都也吧]?)"
)
_ENGLISH = re.compile(
    rf"(?:(?P<part>half past|quarter past|quarter to)\s)?\b(?P<h>\d{{1,2}}|{ENGLISH}){_AFTER}(?![\w:])"
)
_NOON = re.compile(r"\b(?:noon|midday|midnight)\b")
_HALF_DAY, _LAST_HOUR, _HOUR = 12, 23, 60
_AFTERNOON = (
    "下午",
    "午后",
    "傍晚",
    "晚上",
    "晚间",
    "夜里",
    "今晚",
    "明晚",
    "pm",
    "p.m",
    "afternoon",
    "evening",
    "night",
)
_NEAR = 6


def times(text: str, _today: date | None) -> Iterator[Reading]:
    """The times of day in a plain text, written HH:MM; hours without a word for the part of the day stay as said."""
    noon = each(_NOON, text, lambda match: "00:00" if match[0] == "midnight" else "12:00")
    readings = (
        *each(_COLON, text, _colon),
        *each(_POINT, text, _point),
        *each(_ENGLISH, text, _english),
        *noon,
    )
    yield from apart(readings)


def periods(text: str) -> Iterator[Reading]:
    """The parts of the day named in a plain text: 上午, 下午 or 晚上, whatever the word."""
    yield from apart(
        Reading(*match.span(), name) for name, pattern in _PERIOD.items() for match in pattern.finditer(text)
    )


def appointments(text: str, today: date | None) -> Iterator[Reading]:
    """Days with what follows of the time or part of the day: `2026-08-27 15:30`, `2026-08-27 上午`.

    Where only one of both is said, it stands alone.
    """
    parts = apart((*times(text, today), *periods(text)))
    alone = list(days(text, today))
    together = (_together(day, parts) for day in alone)
    yield from apart((*(one for one in together if one), *alone, *parts))


def _together(day: Reading, parts: Sequence[Reading]) -> Reading | None:
    """A day with the time that follows it, else the part of the day; null where it stands alone."""
    first = bisect_left(parts, (day.start - _NEAR,))
    near = parts[first : bisect_left(parts, (day.end + _NEAR + 1,))]
    here = [part for part in near if part.end == day.start or part.start > day.start]
    if not here:
        return None
    part = min(here, key=lambda one: (":" not in one.value, one.start < day.start, one.start))
    return Reading(min(day.start, part.start), max(day.end, part.end), f"{day.value} {part.value}")


def _colon(match: re.Match[str]) -> str | None:
    return _clock(int(match["h"]), int(match["m"]), _words(match))


def _point(match: re.Match[str]) -> str | None:
    minutes = (
        30 if match["half"] else 15 * _int(match["quarter"]) if match["quarter"] else _int(match["m"] or "0")
    )
    plain_one = match[0] in ("一点", "一点儿", "一点都", "一点也", "一点吧")
    return None if plain_one or match["adverb"] == "儿" else _clock(_int(match["h"]), minutes, _words(match))


def _english(match: re.Match[str]) -> str | None:
    if not (match["part"] or match["after"]):
        return None
    hour, minutes = (
        _int(match["h"]),
        {"half past": 30, "quarter past": 15, "quarter to": -15}.get(match["part"], 0),
    )
    return _clock(hour - (minutes < 0), minutes % 60, _words(match))


def _words(match: re.Match[str]) -> str:
    """The words for the part of the day."""
    named = match.groupdict()
    return " ".join(named.get(name) or "" for name in ("before", "after", "later")).strip()


def _clock(hour: int, minutes: int, words: str) -> str | None:
    late = any(word in words for word in _AFTERNOON) or (words == "中午" and hour < _NEAR)
    early = any(word in words for word in ("凌晨", "半夜", "a.m", "am", "morning"))
    if hour == _HALF_DAY and (early or words in ("晚上", "今晚", "夜里")):
        hour = 0
    elif late and hour < _HALF_DAY:
        hour += _HALF_DAY
    return f"{hour:02}:{minutes:02}" if hour <= _LAST_HOUR and minutes < _HOUR else None


def _int(text: str) -> int:
    return int(value(text) or 0)
