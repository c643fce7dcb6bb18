"""Products as people name them."""

from __future__ import annotations

import pytest

from evalkit.targets.demo.products import Products, same_product

ORDERS = [
    {"order_id": "1", "product": "星河耳机 Buds 3 Pro", "category": "耳机"},
    {"order_id": "2", "product": "星河 X5 12GB+256GB", "category": "手机"},
    {"order_id": "3", "product": "星河扫地机器人 R2", "category": "智能家居"},
]
PRODUCTS = Products(["星河 X5 12GB+256GB", "星河 X5 Pro 16GB+512GB", "星河耳机 Buds 3", "星河打印机 P1"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我的x5 pro坏了", "星河 X5 Pro"),
        ("星河X5屏幕碎了", "星河 X5"),
        ("Buds3 左耳没声", "星河耳机 Buds 3"),
        ("打印机P1", "星河打印机 P1"),
        ("手机黑屏", "手机"),
        ("我的手机号是13800010001", None),
        ("X50", None),
        ("随便看看", None),
    ],
)
def test_named(text: str, expected: str | None) -> None:
    assert PRODUCTS.named(text) == expected


@pytest.mark.parametrize(
    ("product", "order_id"),
    [
        ("星河 X5", "2"),
        ("手机", "2"),
        ("扫地机器人", "3"),
        ("星河 X5 Pro", None),
        ("打印机", None),
        ("", None),
    ],
)
def test_same_product(product: str, order_id: str | None) -> None:
    found = same_product(product, ORDERS)
    assert (found["order_id"] if found else None) == order_id


@pytest.mark.parametrize(
    ("text", "rest"),
    [("X5手机的屏幕碎了", "屏幕碎了"), ("打印机卡纸", "卡纸"), ("屏幕碎了", "屏幕碎了"), ("手机", "手机")],
)
def test_what_is_said_after_the_name(text: str, rest: str) -> None:
    assert PRODUCTS.after_name(text) == rest


def test_a_question_can_be_asked_of_another_product() -> None:
    assert PRODUCTS.replaced("耳机拆封后能退吗", "那手机呢") == "手机拆封后能退吗"
    assert PRODUCTS.replaced("运费多少", "那手机呢") is None


def test_a_model_says_more_than_a_kind() -> None:
    assert PRODUCTS.refines("星河 X5", "手机")
    assert not PRODUCTS.refines("手机", "星河 X5")
    assert not PRODUCTS.refines("耳机", "手机")
