"""Values in messages."""

from __future__ import annotations

from datetime import date

import pytest

from evalkit.targets.demo.products import Products
from evalkit.targets.demo.slots import Reader, chosen

READER = Reader(Products(["星河 X5 12GB+256GB", "星河扫地机器人 R2"]), date(2026, 8, 26))
ALL = ("order_id", "phone", "product", "fault", "name", "address", "appointment_time", "reason")


@pytest.mark.parametrize(
    ("slot", "text", "value"),
    [
        ("order_id", "查一下e2026082401到哪了", "E2026082401"),
        ("order_id", "订单2026082401", "E2026082401"),
        ("order_id", "E20260824011", None),
        ("order_id", "13800010001", None),
        ("phone", "电话138 0001 0002", "13800010002"),
        ("phone", "１３８００010002", "13800010002"),
        ("phone", "138000100021", None),
        ("product", "星河X5黑屏", "星河 X5"),
        ("fault", "我的扫地机器人不转了，想修", "不转了"),
        ("fault", "X5手机的屏幕碎了", "屏幕碎了"),
        ("fault", "想预约一下", None),
        ("name", "我叫王建国", "王建国"),
        ("name", "联系人改成李晓梅", "李晓梅"),
        ("name", "王建国，13800010002", "王建国"),
        ("name", "我是来修手机的", None),
        ("address", "地址是朝阳区建国路88号", "朝阳区建国路88号"),
        ("address", "北京市朝阳区建国路88号3单元502", "北京市朝阳区建国路88号3单元502"),
        ("address", "28号上午", None),
        ("appointment_time", "后天下午", "2026-08-28 下午"),
        ("appointment_time", "后天", "2026-08-28"),
        ("appointment_time", "下午吧", "下午"),
        ("appointment_time", "E2026082401", None),
        ("appointment_time", "上海市浦东新区世纪大道100号", None),
        ("reason", "因为颜色不好看", "颜色不好看"),
        ("reason", "买错了", "买错了"),
        ("reason", "E2026082102", None),
    ],
)
def test_a_value_is_read_by_its_form(slot: str, text: str, value: str | None) -> None:
    assert READER.read(text, ALL).get(slot) == value


def test_one_message_can_hold_many() -> None:
    found = READER.read("我叫王建国，13800010002，北京市朝阳区建国路88号，明天上午", ALL)
    assert {name: found[name] for name in ("name", "phone", "address", "appointment_time")} == {
        "name": "王建国",
        "phone": "13800010002",
        "address": "北京市朝阳区建国路88号",
        "appointment_time": "2026-08-27 上午",
    }


@pytest.mark.parametrize(
    ("asked", "text", "value"),
    [
        ("fault", "一直转圈", "一直转圈"),
        ("name", "王建国", "王建国"),
        ("name", "叫王建国吧", "王建国"),
        ("name", "后天上午", None),
        ("reason", "和描述不一样", "和描述不一样"),
        ("phone", "不知道", None),
        ("reason", "确认", None),
        ("fault", "不知道", None),
    ],
)
def test_an_open_question_takes_the_whole_message(asked: str, text: str, value: str | None) -> None:
    assert READER.read(text, ALL, asked=asked).get(asked) == value


ORDERS = [
    {"order_id": "E1", "product": "星河 X5", "category": "手机"},
    {"order_id": "E2", "product": "星河扫地机器人 R2", "category": "智能家居"},
]


@pytest.mark.parametrize(
    ("text", "order_id"),
    [
        ("第二个", "E2"),
        ("1", "E1"),
        ("选2", "E2"),
        ("最后一个", "E2"),
        ("扫地机器人那个", "E2"),
        ("第五个", None),
        ("不知道", None),
    ],
)
def test_one_of_a_list_is_picked_by_place_or_by_name(text: str, order_id: str | None) -> None:
    assert chosen(text, ORDERS, READER.products).get("order_id") == order_id


def test_nothing_is_picked_from_nothing() -> None:
    assert chosen("最后一个", [], READER.products) == {}
