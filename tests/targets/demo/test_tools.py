"""The tools over the shop's books."""

from __future__ import annotations

import pytest

from evalkit.targets.demo.store import Store
from evalkit.targets.demo.tools import Tools
from evalkit.targets.demo.understanding import Model

BOOKING = {
    "product": "扫地机器人",
    "fault": "不转",
    "name": "王建国",
    "phone": "13800010002",
    "address": "建国路88号",
}


@pytest.fixture
def store(shop: Model) -> Store:
    return Store(shop.knowledge.shop)


@pytest.fixture
def tools(store: Store) -> Tools:
    return Tools(lambda: store)


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("get_order", {"order_id": "E2026999999"}, "ORDER_NOT_FOUND"),
        ("find_orders", {"phone": "13900000000"}, "NO_ORDERS"),
        ("track_shipment", {"order_id": "E2026082501"}, "NOT_SHIPPED"),
        ("check_warranty", {"product": "打印机", "phone": "13800010002"}, "PRODUCT_NOT_FOUND"),
        ("check_warranty", {"product": "手机", "phone": "13900000000"}, "NO_ORDERS"),
        ("check_warranty", {"product": "笔记本", "phone": "13800010002"}, "NOT_RECEIVED"),
        ("list_repair_slots", {"date": "2026-08-25"}, "OUT_OF_RANGE"),
        ("list_repair_slots", {"date": "2026-09-03"}, "OUT_OF_RANGE"),
        ("create_repair_booking", {**BOOKING, "date": "2026-08-27", "period": "晚上"}, "SLOT_FULL"),
        (
            "create_return",
            {"order_id": "E2026082102", "reason": "买错", "phone": "13800010001"},
            "PHONE_MISMATCH",
        ),
        (
            "create_return",
            {"order_id": "E2026071401", "reason": "买错", "phone": "13800010006"},
            "NOT_ELIGIBLE",
        ),
        (
            "create_return",
            {"order_id": "E2026081801", "reason": "音质不好", "phone": "13800010001"},
            "QUALITY_ONLY",
        ),
    ],
)
def test_a_tool_that_cannot_says_why(tools: Tools, name: str, arguments: dict[str, str], code: str) -> None:
    call = tools.call(name, **arguments)
    assert call.result is None
    assert call.error is not None
    assert call.error.code == code
    assert tools.calls == [call]


@pytest.mark.parametrize(
    ("product", "phone", "in_warranty", "until"),
    [
        ("扫地机器人", "13800010002", True, "2027-08-16"),
        ("打印机", "13800010009", False, "2025-06-21"),
        ("星河 Mini 2", "13800010010", True, "2026-08-31"),
    ],
)
def test_warranty_runs_from_the_day_of_receipt(
    tools: Tools,
    product: str,
    phone: str,
    in_warranty: bool,  # noqa: FBT001
    until: str,
) -> None:
    """POLICY_WARRANTY_001: twelve months after the order was signed for."""
    found = tools.call("check_warranty", product=product, phone=phone).result
    assert (found["in_warranty"], found["until"]) == (in_warranty, until)


@pytest.mark.parametrize(
    ("order_id", "eligible", "quality_only"),
    [
        ("E2026082102", True, False),
        ("E2026081701", True, False),
        ("E2026081801", True, True),
        ("E2026082001", True, False),
        ("E2026081301", False, None),
        ("E2026082501", False, None),
        ("E2026082401", False, None),
        ("E2026082301", False, None),
    ],
    ids=[
        "sealed",
        "last-day",
        "opened-in-ear",
        "sealed-in-ear",
        "day-ten",
        "not-shipped",
        "on-its-way",
        "cancelled",
    ],
)
def test_eligibility(tools: Tools, order_id: str, eligible: bool, quality_only: bool | None) -> None:  # noqa: FBT001
    """POLICY_RETURN_001 and _002: seven days from receipt; in-ear phones once opened only for a fault."""
    found = tools.call("check_return_eligibility", order_id=order_id).result
    assert (found["eligible"], found.get("quality_only")) == (eligible, quality_only)


def test_a_booking_takes_a_place(tools: Tools, store: Store) -> None:
    def left() -> list[dict[str, object]]:
        return tools.call("list_repair_slots", date="2026-08-27").result["slots"]

    assert left() == [{"period": "上午", "left": 2}, {"period": "下午", "left": 1}]
    booked = tools.call("create_repair_booking", **BOOKING, date="2026-08-27", period="下午")
    assert booked.error is None
    assert left() == [{"period": "上午", "left": 2}]
    assert store.rows("select * from bookings") == [
        {"booking_id": booked.result["booking_id"], **BOOKING, "date": "2026-08-27", "period": "下午"}
    ]


def test_a_refused_booking_leaves_the_books_alone(tools: Tools, store: Store) -> None:
    before = store.rows("select * from slots")
    tools.call("create_repair_booking", **BOOKING, date="2026-08-27", period="晚上")
    assert store.rows("select * from slots") == before
    assert store.rows("select * from bookings") == []


def test_an_order_goes_back_once(tools: Tools, store: Store) -> None:
    wish = {"order_id": "E2026082102", "reason": "买错了", "phone": "13800010004"}
    assert tools.call("create_return", **wish).result["refund"] == 4299
    assert store.rows("select order_id, reason from returns") == [
        {"order_id": "E2026082102", "reason": "买错了"}
    ]
    assert tools.call("create_return", **wish).error is not None


def test_a_fault_sends_opened_in_ear_phones_back(tools: Tools) -> None:
    wish = {"order_id": "E2026081801", "reason": "左耳没声音", "phone": "13800010001"}
    assert tools.call("create_return", **wish).error is None


def test_orders_do_not_show_who_placed_them(tools: Tools) -> None:
    assert not {"phone", "customer"} & tools.call("get_order", order_id="E2026082401").result.keys()


def test_a_copy_changes_on_its_own(store: Store) -> None:
    copy = store.copy()
    wish = {"order_id": "E2026082102", "reason": "买错了", "phone": "13800010004"}
    assert Tools(lambda: copy).call("create_return", **wish).error is None
    assert store.rows("select * from returns") == []
    copy.close()
