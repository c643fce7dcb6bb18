"""Dates and times of day as people say them."""

from __future__ import annotations

from datetime import date

import pytest

from evalkit.targets.demo.dates import moment

TODAY = date(2026, 8, 26)
"""A Wednesday."""


@pytest.mark.parametrize(
    ("text", "day", "period"),
    [
        ("今天下午", "2026-08-26", "下午"),
        ("明天上午", "2026-08-27", "上午"),
        ("明早", "2026-08-27", "上午"),
        ("今晚", "2026-08-26", "晚上"),
        ("后天", "2026-08-28", None),
        ("大后天晚上", "2026-08-29", "晚上"),
        ("三天后下午", "2026-08-29", "下午"),
        ("周五上午", "2026-08-28", "上午"),
        ("周一", "2026-08-31", None),
        ("下周一下午", "2026-08-31", "下午"),
        ("下周三", "2026-09-02", None),
        ("星期天", "2026-08-30", None),
        ("周末上午", "2026-08-29", "上午"),
        ("8月30号上午", "2026-08-30", "上午"),
        ("八月三十一日晚上", "2026-08-31", "晚上"),
        ("九月一号", "2026-09-01", None),
        ("30号下午三点", "2026-08-30", "下午"),
        ("1号", "2026-09-01", None),
        ("2026-08-28 晚上", "2026-08-28", "晚上"),
        ("2026年8月28日", "2026-08-28", None),
        ("8.29上午", "2026-08-29", "上午"),
        ("1月3日", "2027-01-03", None),
        ("上午", None, "上午"),
        ("10点", None, "上午"),
        ("15:30", None, "下午"),
        ("晚上七点", None, "晚上"),
        ("十九点", None, "晚上"),
        ("随便", None, None),
        ("世纪大道100号", None, None),
        ("文三路20号", None, None),
        ("2月30号", None, None),
    ],
)
def test_moment(text: str, day: str | None, period: str | None) -> None:
    said = moment(text, TODAY)
    assert (said.day.isoformat() if said.day else None, said.period) == (day, period)
