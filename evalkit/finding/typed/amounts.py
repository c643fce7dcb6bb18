"""Numbers, sums of money and their ranges: 两百五 is 250, ¥1,299 is 1299, 50到100元 is 50-100, 4.5分以上 is ≥4.5.

Currencies are not told apart: 50 dollars and 50元 are both 50.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

from evalkit.finding.typed.numerals import NUMBER, shown, value
from evalkit.finding.typed.readings import Reading, apart, each

__all__ = ["numbers", "sums"]

_SIGN = r"(?:[¥$€£]|rmb|cny|usd|人民币)"
_UNIT = r"(?:元|块钱|块|圆|人民币|rmb|cny|usd|美元|美金|欧元|港币|dollars?|bucks?|euros?|yuan)"
_TO = r"\s?(?:-|~|–|—|到|至|to)\s?"
_LEAST = "以上|及以上|起步|起(?![来床])|or (?:more|higher|above|better|greater)"
_MOST = "以下|以内|之内|内|or (?:less|below|under)"
_SUFFIX = rf"(?:\s?(?:的)?(?P<bound>{_LEAST}|{_MOST}))?"
_PREFIX = r"(?:(?P<least>≥|不低于|不少于|至少|高于|超过|大于|at least\s|over\s|above\s|more than\s)|(?P<most>≤|不超过|不高于|低于|最多|小于|at most\s|under\s|below\s|less than\s))?"
_START, _END = r"(?<![a-z0-9.,_#@+-])", r"(?![0-9]|[.,]\d|[a-z_@])"

_RANGE_OF_MONEY = re.compile(
    rf"{_START}{_SIGN}?\s?(?P<low>{NUMBER})\s?{_UNIT}?{_TO}{_SIGN}?\s?(?P<high>{NUMBER})\s?{_UNIT}"
)
_SIGNED = re.compile(rf"{_PREFIX}{_SIGN}\s?(?P<n>{NUMBER}){_SUFFIX}")
_WITH_UNIT = re.compile(
    rf"{_PREFIX}{_START}(?P<n>{NUMBER})\s?{_UNIT}(?P<tail>(?<=块)[一二三四五六七八九1-9](?![\d十百千万月日号点个下家位份次些]))?"
    rf"(?:(?P<dimes>[一二三四五六七八九1-9])[毛角])?{_SUFFIX}"
)
_ROUND = re.compile(
    rf"{_PREFIX}{_START}(?P<n>(?:\d+(?:\.\d+)?)[千万](?:\d(?!\d))?|[一二两三四五六七八九][百千万]+[一二三四五六七八九]?(?![十百千万]))(?![米克里步人个件台名张天]){_SUFFIX}"
)
_FREE = re.compile(
    r"免费(?=$|[^\u4e00-\u9fff]|[的吗呢哦呀啊]|入|开放|参观|游|景)|不要钱|不收费|不花钱|free of charge|\bfree(?= (?:admission|entry)|$|[.,!?])"
)
_RANGE = re.compile(
    rf"{_START}(?P<low>{NUMBER})\s?[分个天岁]*{_TO}(?P<high>{NUMBER}){_END}(?!\s?个?(?:小时|分钟|钟头|秒))"
)
_NUMBER = re.compile(rf"{_PREFIX}(?P<n>{_START}(?:{NUMBER}){_END})(?:\s?[分个元块人岁颗星度]?{_SUFFIX})")
_PERSONS = re.compile(r"\b(?:just me|by myself|for myself|only me|just myself|a single)\b")
_NO_NUMBER = re.compile(
    r"^一(?:下|些|点|样|直|定|般|起|共|边|会|切|律|旦|致|向|路|并|番|趟|句|[个家位份条款种部间座所处](?=[\u4e00-\u9fff])(?!个?(?:人|月|小时|星期|晚)))"
    r"|^十分|^[两俩](?:者|边|家|个都)|^俩|^千万|^万一|^one\b(?!\s(?:person|people|adults?|guests?|child|kid|rooms?|nights?|days?|tickets?|bags?|only|please|of us)|-)"
)
_DURATION = re.compile(r"\s?个?(?:半)?(?:小时|分钟|钟头|秒)")
_ONE_ALONE = re.compile(r"(?:\bfor|\bnumber|\bjust|\bonly|^|\bis|\bof)\s?$")
_WORD_BEFORE = re.compile(
    r"(?:周|星期|礼拜|第|统|唯|万|单|同|某|this |that |which |another |next |any |no |the |every|some|good |great |nice |other )$"
)


def sums(text: str, _today: date | None) -> Iterator[Reading]:
    """The sums of money in a plain text: `1299`, `50-100`, `≥200`; what is free costs 0."""
    yield from apart(
        (
            *each(_RANGE_OF_MONEY, text, _range),
            *each(_SIGNED, text, _sum),
            *each(_WITH_UNIT, text, _sum),
            *each(_ROUND, text, _sum),
            *each(_FREE, text, lambda _: "0"),
        )
    )


def numbers(text: str, _today: date | None) -> Iterator[Reading]:
    """The numbers in a plain text: `3`, `50-100`, `≥4.5`; but not the 一 in 一下, 一家 or 一些, nor sums of money."""
    money = {
        reading: None
        for pattern in (_RANGE_OF_MONEY, _SIGNED, _WITH_UNIT)
        for reading in pattern.finditer(text)
    }
    taken = [Reading(*match.span(), "") for match in money]
    found = (*taken, *each(_RANGE, text, _range), *_plain_numbers(text), *each(_PERSONS, text, lambda _: "1"))
    yield from (reading for reading in apart(found) if reading.value)


def _plain_numbers(text: str) -> Iterator[Reading]:
    for match in _NUMBER.finditer(text):
        start = match.start("n")
        no_number = _NO_NUMBER.match(text[start : start + 16])
        alone = match["n"] == "one" and _ONE_ALONE.search(text[max(0, start - 8) : start])
        if (
            _DURATION.match(text, match.end("n"))
            or (no_number and not alone)
            or _WORD_BEFORE.search(text[max(0, start - 8) : start])
        ):
            continue
        number = value(match["n"])
        if number is not None:
            yield Reading(match.start(), match.end(), _bounded(match, number))


def _range(match: re.Match[str]) -> str | None:
    low, high = value(match["low"]), value(match["high"])
    return None if low is None or high is None or low >= high else f"{shown(low)}-{shown(high)}"


def _sum(match: re.Match[str]) -> str | None:
    number = value(match["n"])
    if number is None:
        return None
    named = match.groupdict()
    dimes = named.get("dimes") or named.get("tail")
    return _bounded(match, number + (value(dimes) or 0) / Decimal(10) if dimes else number)


def _bounded(match: re.Match[str], number: Decimal) -> str:
    """The number with `≥` or `≤` where it is a bound."""
    bound = match["bound"] or ""
    if match["least"] or (bound and re.fullmatch(_LEAST, bound)):
        return f"≥{shown(number)}"
    return f"≤{shown(number)}" if match["most"] or bound else shown(number)
