"""Typed values: their canonical writings, by tables of own sentences, and what holds for all of them."""

from __future__ import annotations

import time
from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalkit.finding import canonical
from evalkit.finding.said import plain
from evalkit.finding.typed import TYPES

WEDNESDAY = date(2026, 8, 26)


def read(kind: str, text: str, day: date | None = WEDNESDAY) -> list[str]:
    return [reading.value for reading in TYPES[kind](plain(text).text, day)]


NUMBERS = [
    ("要一千二百三十四个", ["1234"]),
    ("两百五", ["250"]),
    ("三万五", ["35000"]),
    ("一万零五百", ["10500"]),
    ("一百零五", ["105"]),
    ("一亿二千万", ["120000000"]),
    ("十二", ["12"]),
    ("二零二六", ["2026"]),
    ("三点五", ["3.5"]),
    ("１，２９９台", ["1", "299"]),
    ("1,299台", ["1299"]),
    ("1.2万次", ["12000"]),
    ("1万2", ["12000"]),
    ("买两个", ["2"]),
    ("帮我查一下", []),
    ("推荐一家餐馆", []),
    ("我们一个人去", ["1"]),
    ("第一次来", []),
    ("评分4.5分以上", ["≥4.5"]),
    ("不超过3个", ["≤3"]),
    ("50到100", ["50-100"]),
    ("数量88，尺寸100", ["88", "100"]),
    ("玩2小时 - 3小时", []),
    ("花了300元", []),
    ("twenty-five people", ["25"]),
    ("two hundred and five guests", ["205"]),
    ("is there another one?", []),
    ("for one person", ["1"]),
    ("rated 4.0 or higher", ["≥4"]),
]

DATES = [
    ("8月26号", ["2026-08-26"]),
    ("8/26", ["2026-08-26"]),
    ("2026-08-26", ["2026-08-26"]),
    ("20260827", ["2026-08-27"]),
    ("二零二六年八月二十六日", ["2026-08-26"]),
    ("明天", ["2026-08-27"]),
    ("后天", ["2026-08-28"]),
    ("大后天", ["2026-08-29"]),
    ("昨天和前天", ["2026-08-25", "2026-08-24"]),
    ("下周三", ["2026-09-02"]),
    ("这周日", ["2026-08-30"]),
    ("上周五", ["2026-08-21"]),
    ("周五上午", ["2026-08-28"]),
    ("周三", ["2026-08-26"]),
    ("三天后", ["2026-08-29"]),
    ("两周前", ["2026-08-12"]),
    ("5号", ["2026-09-05"]),
    ("下个月3号", ["2026-09-03"]),
    ("1月2日", ["2027-01-02"]),
    ("7月2日买的", ["2026-07-02"]),
    ("2月30日", []),
    ("文三路98号", []),
    ("3号楼", []),
    ("三个月内", []),
    ("March 3rd", ["2026-03-03"]),
    ("the 3rd of September", ["2026-09-03"]),
    ("5th of next month", ["2026-09-05"]),
    ("next Friday", ["2026-09-04"]),
    ("the day after tomorrow", ["2026-08-28"]),
    ("3/4/2027", ["2027-03-04"]),
]

TIMES = [
    ("下午三点半", ["15:30"]),
    ("15:30", ["15:30"]),
    ("下午3：30", ["15:30"]),
    ("3:30 pm", ["15:30"]),
    ("3 p.m.", ["15:00"]),
    ("上午十点", ["10:00"]),
    ("十点钟", ["10:00"]),
    ("晚上8点一刻", ["20:15"]),
    ("九点零五分", ["09:05"]),
    ("中午12点", ["12:00"]),
    ("中午一点半", ["13:30"]),
    ("凌晨十二点", ["00:00"]),
    ("快一点", []),
    ("有一点贵", []),
    ("三小时", []),
    ("12点到14点", ["12:00", "14:00"]),
    ("noon", ["12:00"]),
    ("half past three", ["03:30"]),
    ("quarter to 9 in the evening", ["20:45"]),
    ("25:10", []),
]

MONEY = [
    ("¥1,299", ["1299"]),
    ("￥８８", ["88"]),
    ("1.2万", ["12000"]),
    ("3千", ["3000"]),
    ("一百块", ["100"]),
    ("三块五", ["3.5"]),
    ("两百五十块钱", ["250"]),
    ("50到100元", ["50-100"]),
    ("50-100元", ["50-100"]),
    ("200元以上", ["≥200"]),
    ("不超过500元", ["≤500"]),
    ("50元一下午", ["50"]),
    ("门票免费的景点", ["0"]),
    ("提供免费停车", []),
    ("$50", ["50"]),
    ("12.5美元", ["12.5"]),
    ("two hundred dollars", ["200"]),
    ("走3千米", []),
    ("共88个", []),
]

PHONES = [
    ("13800138000", ["13800138000"]),
    ("１３８００１３８０００", ["13800138000"]),
    ("138 0013 8000", ["13800138000"]),
    ("138-0013-8000", ["13800138000"]),
    ("+86 13800138000", ["13800138000"]),
    ("+86-138-0013-8000", ["13800138000"]),
    ("一三八零零一三八零零零", ["13800138000"]),
    ("幺三八，零零一三，八零零零", ["13800138000"]),
    ("010-84273030", ["01084273030"]),
    ("400-610-1101", ["4006101101"]),
    ("69624789", ["69624789"]),
    ("(977) 625-2661", ["9776252661"]),
    ("+33 1 53 75 62 62", ["33153756262"]),
    ("138001380001", []),
    ("订单E2026082401", []),
    ("2026-08-26", []),
    ("138001380", []),
]

ORDER_IDS = [
    ("E2026082401", ["E2026082401"]),
    ("ｅ２０２６０８２４０１", ["E2026082401"]),
    ("e2026-0824-01", ["E2026082401"]),
    ("订单号：20260824", ["20260824"]),
    ("单号1234", ["1234"]),
    ("Order ID: 3348917502", ["3348917502"]),
    ("ORD-12345-678", ["ORD12345678"]),
    ("order is 3348917502", ["3348917502"]),
    ("订单是13912345678", ["13912345678"]),
    ("手机13800138000", []),
    ("电话010-84273030", []),
    ("路由器BE6500", []),
    ("价格1,299元", []),
    ("me@order123456.com", []),
    ("E2026082401和E2026082402", ["E2026082401", "E2026082402"]),
    ("共12345", []),
]

PERSONS = [
    ("我叫王建国", ["王建国"]),
    ("王强，13812345678", ["王强"]),
    ("我是马骏", ["马骏"]),
    ("何女士", ["何女士"]),
    ("联系人改成林志远", ["林志远"]),
    ("姓名：陈思雨 电话", ["陈思雨"]),
    ("收货人欧阳娜娜，", ["欧阳娜娜"]),
    ("我叫什么不重要", []),
    ("我想预约", []),
    ("周三上午", []),
    ("高兴", []),
    ("my name is Crystal Minh", ["crystal minh"]),
    ("Crystal Minh", ["crystal minh"]),
    ("thank you very much", []),
    ("Good morning", []),
]

ADDRESSES = [
    ("地址是北京市西城区广安门外大街277号。", ["北京市西城区广安门外大街277号"]),
    ("我住杭州市西湖区文三路98号3幢502室，电话", ["杭州市西湖区文三路98号3幢502室"]),
    ("送到成都市武侯区天府大道中段800号", ["成都市武侯区天府大道中段800号"]),
    ("上海市 浦东新区 世纪大道8号", ["上海市浦东新区世纪大道8号"]),
    ("地址在九渡河镇撞道口村", ["九渡河镇撞道口村"]),
    ("南京市鼓楼区中山路321号 13800010005", ["南京市鼓楼区中山路321号"]),
    ("周五上午可以吗", []),
    ("8月5号", []),
    ("我想找个附近的餐馆", []),
    ("天安门广场", []),
    ("6821 1st ave", ["68211stave"]),
    ("12 Main Street", ["12mainstreet"]),
    ("6821 1st ave san mateo, ny 75227", ["68211stavesanmateony75227"]),
    ("I have 2 questions", []),
    ("地址改成广州市天河区体育西路103号吧", ["广州市天河区体育西路103号"]),
]

APPOINTMENTS = [
    ("明天上午", ["2026-08-27 上午"]),
    ("2026-08-27 上午", ["2026-08-27 上午"]),
    ("周五下午三点", ["2026-08-28 15:00"]),
    ("8月27号下午", ["2026-08-27 下午"]),
    ("今晚", ["2026-08-26 晚上"]),
    ("后天 15:30", ["2026-08-28 15:30"]),
    ("明早", ["2026-08-27 上午"]),
    ("tomorrow afternoon", ["2026-08-27 下午"]),
    ("明天", ["2026-08-27"]),
    ("下午", ["下午"]),
    ("下午三点", ["15:00"]),
    ("八月三十号上午", ["2026-08-30 上午"]),
    ("下下周一傍晚", ["2026-09-07 下午"]),
    ("随时", []),
    ("文三路98号", []),
]

TABLES = {
    "number": NUMBERS,
    "date": DATES,
    "time": TIMES,
    "money": MONEY,
    "phone": PHONES,
    "order_id": ORDER_IDS,
    "person": PERSONS,
    "address": ADDRESSES,
    "appointment": APPOINTMENTS,
}


@pytest.mark.parametrize(
    ("kind", "text", "values"),
    [pytest.param(kind, *row, id=f"{kind} {row[0]}") for kind, rows in TABLES.items() for row in rows],
)
def test_what_a_text_says(kind: str, text: str, values: list[str]) -> None:
    """The values of a type in a sentence said on Wednesday, 26 August 2026."""
    assert read(kind, text) == values


def test_words_that_count_from_a_day_mean_nothing_without_one() -> None:
    assert read("date", "明天", None) == []
    assert read("date", "8月26号", None) == ["--08-26"]
    assert read("date", "2026年8月26号", None) == ["2026-08-26"]


SAYINGS = sorted({text for rows in TABLES.values() for text, _ in rows})
pieces = st.sampled_from(
    [*SAYINGS, "，", "。", " ", "不是", "E20", "138", "点", "月", "号", "-", "\u0301", "㌔", "İ"]
)
texts = st.lists(pieces, max_size=6).map("".join)


@given(kind=st.sampled_from(sorted(TYPES)), text=texts)
def test_readings_stand_apart_in_order(kind: str, text: str) -> None:
    """Whatever the text, readings are non-empty places in it, from left to right, none inside another."""
    said = plain(text).text
    readings = list(TYPES[kind](said, WEDNESDAY))
    places = [(reading.start, reading.end) for reading in readings]
    assert all(0 <= start < end <= len(said) for start, end in places)
    assert places == sorted(places)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))


@example(kind="order_id", text="单号1234")
@example(kind="order_id", text="订单13800138000")
@given(kind=st.sampled_from(sorted(TYPES)), text=st.sampled_from(SAYINGS))
def test_a_canonical_value_is_its_own(kind: str, text: str) -> None:
    """Making canonical twice is making canonical once, for each value that a text says."""
    for value in read(kind, text):
        assert canonical(kind, value, WEDNESDAY) == value


@given(text=texts)
def test_plain_text_is_its_own(text: str) -> None:
    once = plain(text).text
    assert plain(once).text == once


@given(days=st.integers(-150, 150))
def test_every_writing_of_a_day_is_that_day(days: int) -> None:
    """A day within five months, with or without its year, in digits or words, is one canonical day."""
    day = WEDNESDAY + timedelta(days=days)
    for text in (
        f"{day.month}月{day.day}号",
        f"{day.month}/{day.day}",
        f"{day:%Y-%m-%d}",
        f"{day:%B} {day.day}",
    ):
        assert read("date", text) == [day.isoformat()], text


@pytest.mark.parametrize(
    "piece", ["一", "1", "1 ", "one ", "twenty ", "1元", "1-", "a@", "月", "省", "我叫", "点"]
)
def test_no_text_is_slow_to_read(piece: str) -> None:
    """The readers' own patterns take about linear time: ten thousand repeats of a piece, all types."""
    text = plain(piece * 10_000).text
    begun = time.process_time()
    for reader in TYPES.values():
        list(reader(text, WEDNESDAY))
    assert time.process_time() - begun < 30
