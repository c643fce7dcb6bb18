"""The agent's tools over the shop's books, under the names and arguments that its tool calls carry."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from evalkit.targets.demo.products import same_product
from evalkit.targets.demo.store import Row, Store, ToolError

__all__ = ["Call", "Tools"]

RETURN_DAYS = 7
BOOKING_DAYS = 7
NOT_ON_SITE = ("耳机", "手表手环")
QUALITY_ONLY_MODELS = ("Buds",)
"""Worn in the ear: once opened, returned only for a fault."""
QUALITY_WORDS = (
    "质量",
    "坏",
    "故障",
    "瑕疵",
    "没声音",
    "无声",
    "不开机",
    "无法",
    "充不",
    "失灵",
    "破损",
    "划痕",
    "发错",
    "异响",
    "断连",
    "花屏",
    "死机",
    "连不上",
    "失效",
    "闪退",
    "漏",
)

DISPLAY_NAMES = {
    "find_orders": "按手机号查订单",
    "get_order": "查询订单",
    "track_shipment": "查询物流",
    "check_warranty": "查询保修",
    "list_repair_slots": "查询可约时段",
    "create_repair_booking": "提交维修预约",
    "check_return_eligibility": "检查退货资格",
    "create_return": "提交退货申请",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a tool: what went in, what came out or why nothing did, how long it took."""

    name: str
    arguments: Mapping[str, Any]
    result: Any = None
    error: ToolError | None = None
    latency_ms: float = 0.0


class Tools:
    """The tools over the books that `books` opens at the first call; `calls` has what was called, in order."""

    def __init__(self, books: Callable[[], Store]) -> None:
        self._books = books
        self.calls: list[Call] = []

    def call(self, name: str, /, **arguments: str) -> Call:
        """Call a tool; its refusal is part of the call, not an exception."""
        started = time.perf_counter()
        result, error = None, None
        try:
            result = _TOOLS[name](self._books(), **arguments)
        except ToolError as refusal:
            error = refusal
        call = Call(name, arguments, result, error, (time.perf_counter() - started) * 1000)
        self.calls.append(call)
        return call


def _find_orders(store: Store, *, phone: str) -> list[Row]:
    shown = ("order_id", "product", "status", "ordered_at")
    return [{name: order[name] for name in shown} for order in store.orders_of(phone)]


def _get_order(store: Store, *, order_id: str) -> Row:
    hidden = ("phone", "customer")
    order = store.order(order_id)
    shown = {name: value for name, value in order.items() if name not in hidden}
    return {**shown, "opened": bool(order["opened"])}


def _track_shipment(store: Store, *, order_id: str) -> Row:
    order = store.order(order_id)
    if order["tracking_no"] is None:
        raise ToolError("NOT_SHIPPED", f"订单 {order['order_id']} 没有物流信息，当前状态为{order['status']}")
    return {name: order[name] for name in ("order_id", "carrier", "tracking_no", "shipped_at", "signed_at")}


def _check_warranty(store: Store, *, product: str, phone: str) -> Row:
    orders = store.orders_of(phone)
    received = [order for order in orders if order["signed_at"]]
    order = same_product(product, received) or same_product(product, orders)
    if order is None:
        raise ToolError("PRODUCT_NOT_FOUND", f"手机号 {phone} 名下没有购买{product}的记录")
    result = {"order_id": order["order_id"], "product": order["product"]}
    result["on_site"] = order["category"] not in NOT_ON_SITE
    if order["signed_at"] is None:
        raise ToolError("NOT_RECEIVED", f"您购买的{order['product']}还没有签收，当前状态为{order['status']}")
    until = _months_after(_day(order["signed_at"]), order["warranty_months"])
    return {**result, "in_warranty": store.clock.date() <= until, "until": until.isoformat()}


def _list_repair_slots(store: Store, *, date: str) -> Row:
    _within_booking_days(store, date)
    found = store.rows("select period, left from slots where date = ? and left > 0", date)
    return {"date": date, "slots": found}


def _create_repair_booking(store: Store, *, date: str, period: str, **contact: str) -> Row:
    _within_booking_days(store, date)
    with store.writing() as books:
        query = "update slots set left = left - 1 where date = ? and period = ? and left > 0"
        if not books.execute(query, (date, period)).rowcount:
            raise ToolError("SLOT_FULL", f"{date} {period}已约满")
        number = books.execute("select count(*) from bookings").fetchone()[0] + 1
        booking_id = f"R{date.replace('-', '')}{number:03}"
        values = [booking_id, *(contact[name] for name in ("product", "fault", "name", "phone", "address"))]
        books.execute("insert into bookings values (?, ?, ?, ?, ?, ?, ?, ?)", (*values, date, period))
    return {"booking_id": booking_id, "date": date, "period": period}


def _check_return_eligibility(store: Store, *, order_id: str) -> Row:
    order = store.order(order_id)
    refusal = _refusal(store, order)
    worn = order["opened"] and any(model in order["product"] for model in QUALITY_ONLY_MODELS)
    result: Row = {"order_id": order["order_id"], "product": order["product"], "eligible": refusal is None}
    if refusal is None:
        last = _day(order["signed_at"]) + timedelta(days=RETURN_DAYS)
        return {**result, "quality_only": bool(worn), "last_day": last.isoformat()}
    return {**result, "explanation": refusal}


def _create_return(store: Store, *, order_id: str, reason: str, phone: str) -> Row:
    order = store.order(order_id)
    if order["phone"] != phone:
        raise ToolError("PHONE_MISMATCH", f"手机号 {phone} 与订单 {order['order_id']} 的下单手机号不一致")
    allowed = _check_return_eligibility(store, order_id=order_id)
    if not allowed["eligible"]:
        raise ToolError("NOT_ELIGIBLE", allowed["explanation"])
    if allowed["quality_only"] and not any(word in reason for word in QUALITY_WORDS):
        raise ToolError("QUALITY_ONLY", "入耳式耳机拆封后只有质量问题可以退货")
    return_id = f"T{order['order_id'][1:]}"
    with store.writing() as books:
        books.execute(
            "insert into returns values (?, ?, ?, ?)", (return_id, order["order_id"], reason, phone)
        )
    return {"return_id": return_id, "order_id": order["order_id"], "refund": order["price"]}


def _refusal(store: Store, order: Row) -> str | None:
    """Why an order cannot be returned; None when it can."""
    if store.rows("select 1 from returns where order_id = ?", order["order_id"]):
        return "这笔订单已经提交过退货申请"
    if order["signed_at"] is None:
        return {
            "待发货": "订单还没有发货，可以在订单详情直接取消，不需要退货",
            "已发货": "订单还在配送途中，请签收后再申请，也可以直接拒收",
        }.get(order["status"], f"订单当前状态为{order['status']}，不能退货")
    if store.clock.date() > _day(order["signed_at"]) + timedelta(days=RETURN_DAYS):
        return f"订单于{order['signed_at'][:10]}签收，已超过{RETURN_DAYS}天退货期限"
    return None


def _within_booking_days(store: Store, day: str) -> None:
    ahead = (date.fromisoformat(day) - store.clock.date()).days
    if not 0 <= ahead <= BOOKING_DAYS:
        raise ToolError("OUT_OF_RANGE", f"{day}不在可约范围内，只能预约{BOOKING_DAYS}天之内的时段")


def _day(stamp: str) -> date:
    return datetime.fromisoformat(stamp).date()


def _months_after(day: date, months: int) -> date:
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    after = date(year, month + 1, 1) + timedelta(days=31)
    last = after.replace(day=1) - timedelta(days=1)
    return last.replace(day=min(day.day, last.day))


_TOOLS: dict[str, Callable[..., Any]] = {
    "find_orders": _find_orders,
    "get_order": _get_order,
    "track_shipment": _track_shipment,
    "check_warranty": _check_warranty,
    "list_repair_slots": _list_repair_slots,
    "create_repair_booking": _create_repair_booking,
    "check_return_eligibility": _check_return_eligibility,
    "create_return": _create_return,
}
