"""Days: 2026-08-26, 8月26号, 二零二六年八月二十六日, 8/26, 明天, 下周三, March 3rd, next Friday, read against a day.

A day without its year is the nearest such day, a day without its month the next; without a day to count from it stays `--08-26`, and words
such as 明天 mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, timedelta

from evalkit.finding.typed.numerals import SMALL, value
from evalkit.finding.typed.readings import Reading, apart

__all__ = ["days"]

_Match = re.Match[str]
_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES.split(), 1)}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_WEEKDAYS = {name: number for number, name in enumerate(_DAY_NAMES.split())}
_HAN_WEEKDAYS = {c: n for n, c in enumerate("一二三四五六日")} | {"天": 6, "末": 5}
_HAN_WEEKDAYS |= {str(number + 1): number for number in range(7)}
_WORDS = {
    "大前天": -3, "前天": -2, "前日": -2, "昨天": -1, "昨日": -1, "昨晚": -1, "今天": 0, "今日": 0, "今晚": 0, "今早": 0,
    "当天": 0, "今儿": 0, "明天": 1, "明日": 1, "明儿": 1, "明晚": 1, "明早": 1, "大后天": 3, "后天": 2, "后日": 2,
    "the day after tomorrow": 2, "day after tomorrow": 2, "day before yesterday": -2, "today": 0, "tonight": 0,
    "tomorrow": 1, "yesterday": -1,
}  # fmt: skip
_YEARS = {"今年": 0, "明年": 1, "去年": -1, "后年": 2}
_N = SMALL
_YEAR = r"(?:\d{4}|[零〇一二三四五六七八九]{4})"
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_WEEKDAY = "|".join(_WEEKDAYS)


def days(text: str, today: date | None) -> Iterator[Reading]:
    """The days named in a plain text, written YYYY-MM-DD."""
    readings = (
        Reading(*match.span(), day)
        for pattern, read in _READERS
        for match in pattern.finditer(text)
        if (day := read(match, today)) is not None
    )
    yield from apart(readings)


def _full(match: _Match, _today: date | None) -> str | None:
    return _day(*(_int(match[name]) for name in ("y", "m", "d")))


def _month_and_day(match: _Match, today: date | None) -> str | None:
    month, day = _int(match["m"]), _int(match["d"])
    said = match.groupdict().get("said_year")
    if said and today:
        return _day(today.year + _YEARS[said], month, day)
    return _nearest(month, day, today)


def _english(match: _Match, today: date | None) -> str | None:
    month, day = _MONTHS[match["m"]], int(match["d"])
    return _day(int(match["y"]), month, day) if match["y"] else _nearest(month, day, today)


def _nearest(month: int, day: int, today: date | None) -> str | None:
    """That day of the year nearest to today."""
    if today is None:
        return f"--{month:02}-{day:02}" if _day(2000, month, day) else None
    near = [date.fromisoformat(one) for year in (-1, 0, 1) if (one := _day(today.year + year, month, day))]
    return min(near, key=lambda one: abs(one - today)).isoformat() if near else None


def _word(match: _Match, today: date | None) -> str | None:
    return (today + timedelta(days=_WORDS[match[0]])).isoformat() if today else None


def _days_away(match: _Match, today: date | None) -> str | None:
    number = _int(match["n"]) * (7 if match["unit"] in ("周", "星期", "礼拜", "week", "weeks") else 1)
    return (
        (today + timedelta(days=number * (-1 if match["way"] in ("前", "ago") else 1))).isoformat()
        if today
        else None
    )


def _weekday(match: _Match, today: date | None) -> str | None:
    """下周三 is in the next week, 这周三 in this one; 周三 alone is the next such day, today included."""
    if today is None:
        return None
    wanted = _HAN_WEEKDAYS.get(match["day"], _WEEKDAYS.get(match["day"], 0))
    which = match["which"] or ""
    day = today + timedelta(days=wanted - today.weekday(), weeks=_weeks(which))
    return (day + timedelta(weeks=1) if not which and day < today else day).isoformat()


def _weeks(which: str) -> int:
    if which in ("next ", "last ", "next", "last"):
        return 1 if which.startswith("next") else -1
    return which.count("下") - which.count("上")


def _day_of_month(match: _Match, today: date | None) -> str | None:
    """The day of the month named, else the next such day, today included."""
    day, which = _int(match["d"]), match.groupdict().get("which") or ""
    if today is None or not day:
        return None
    months = [_weeks(which)] if which else [0, 1, 2]
    known = [one for months_on in months if (one := _in_month(today, months_on, day))]
    return next((one for one in known if which or one >= today.isoformat()), None)


def _in_month(today: date, months_on: int, day: int) -> str | None:
    years, month = divmod(today.month - 1 + months_on, 12)
    return _day(today.year + years, month + 1, day)


def _day(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def _int(text: str) -> int:
    return int(value(text) or 0)


_NOT_A_HOUSE = r"(?![楼院线门馆店座栋室幢单机码厅口])"
_READERS: tuple[tuple[re.Pattern[str], Callable[[_Match, date | None], str | None]], ...] = (
    (re.compile(rf"(?<!\d)(?P<y>{_YEAR})\s?(?:年|[-/.])\s?(?P<m>{_N})\s?(?:月|[-/.])\s?(?P<d>{_N})(?!\d)\s?[日号]?"), _full),
    (re.compile(r"(?<!\d)(?P<y>20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])(?!\d)"), _full),
    (re.compile(r"(?<![\d/])(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>\d{4})(?![\d/])"), _full),
    (re.compile(r"--(?P<m>\d\d)-(?P<d>\d\d)(?!\d)"), _month_and_day),
    (re.compile(rf"(?P<said_year>今年|明年|去年|后年)?(?<!\d)(?P<m>{_N})\s?月\s?份?(?:的)?(?P<d>{_N})(?!\d)\s?[日号]?(?!个)"), _month_and_day),
    (re.compile(r"(?<![\d/.:])(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\d/])"), _month_and_day),
    (re.compile(rf"\b(?P<m>{_MONTH})\.?\s(?:the\s)?(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<y>\d{{4}}))?"), _english),
    (re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<m>{_MONTH})\b(?:,?\s(?P<y>\d{{4}}))?"), _english),
    (re.compile(rf"(?P<n>{_N})\s?个?(?P<unit>天|周|星期|礼拜)(?:之|以)?(?P<way>后|前)"), _days_away),
    (re.compile(r"\bin\s(?P<n>\d{1,2}|one|two|three|four|five|six|seven)\s(?P<unit>days?|weeks?)(?P<way>)\b"), _days_away),
    (re.compile(r"\b(?P<n>\d{1,2}|one|two|three|four|five|six|seven)\s(?P<unit>days?|weeks?)\s(?P<way>ago)\b"), _days_away),
    (re.compile("|".join(sorted(_WORDS, key=len, reverse=True))), _word),
    (re.compile(r"(?P<which>下下|上上|下|上|这|本)?个?(?:周|星期|礼拜)(?P<day>[一二三四五六日天末1-7])(?![\d年月])"), _weekday),
    (re.compile(rf"\b(?P<which>next |last |this )?(?P<day>{_WEEKDAY})\b"), _weekday),
    (re.compile(rf"(?P<which>下|上|这|本)个?月(?:的)?(?P<d>{_N})\s?[日号]?"), _day_of_month),
    (re.compile(rf"(?<![\d月路街道巷弄段村里楼栋幢座门院第-])(?P<d>{_N})\s?[日号]{_NOT_A_HOUSE}"), _day_of_month),
    (re.compile(r"\b(?P<d>\d{1,2})(?:st|nd|rd|th)\sof\s(?P<which>this|next|last)\smonth\b"), _day_of_month),
    (re.compile(r"\bthe\s(?P<d>\d{1,2})(?:st|nd|rd|th)\b(?!\s(?:street|st|floor|ave))"), _day_of_month),
)  # fmt: skip
"""The ways to name a day, the surest first."""
