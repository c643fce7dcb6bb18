"""Where an order stands: found by its number, or among the orders of a phone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalkit.targets.demo.dialogs import Dialog, Task
from evalkit.targets.demo.products import same_product
from evalkit.targets.demo.tools import Tools

__all__ = ["ORDER_QUERY", "identified"]

_QUESTION = "请提供订单号（E开头加10位数字），没有订单号也可以提供下单手机号。"


def identified(dialog: Dialog, tools: Tools) -> dict[str, Any] | str:
    """The order that the slots name, or what to say where they name none, an unknown one, or several."""
    if "order_id" in dialog.slots and not dialog.notes.get("unknown"):
        call = tools.call("get_order", order_id=dialog.slots["order_id"])
        if not call.error:
            dialog.reach("identify_order")
            found: dict[str, Any] = call.result
            return found
        dialog.notes["unknown"] = True
        return dialog.ask("order_id", f"{call.error.message}，请核对后重新提供，或提供下单手机号。")
    if "phone" in dialog.slots and "listed" not in dialog.notes:
        return _by_phone(dialog, tools)
    return dialog.ask("order_id", dialog.prompt if "choices" in dialog.notes else _QUESTION)


def _by_phone(dialog: Dialog, tools: Tools) -> dict[str, Any] | str:
    call = tools.call("find_orders", phone=dialog.slots["phone"])
    dialog.notes["listed"] = [] if call.error else call.result
    if call.error:
        return dialog.ask("phone", f"{call.error.message}，请核对手机号，或直接提供订单号。")
    named = same_product(dialog.notes.get("product") or "", call.result)
    if len(call.result) == 1 or named:
        dialog.slots["order_id"] = (named or call.result[0])["order_id"]
        dialog.notes.pop("unknown", None)
        return identified(dialog, tools)
    listed = "；".join(
        f"{number}. {order['order_id']} {order['product']}（{order['status']}）"
        for number, order in enumerate(call.result, 1)
    )
    dialog.notes["choices"] = call.result
    return dialog.ask(
        "order_id", f"查到{len(call.result)}笔订单：{listed}。请问是哪一笔？请回复订单号或序号。"
    )


def _advance(dialog: Dialog, tools: Tools) -> str:
    order = identified(dialog, tools)
    if isinstance(order, str):
        return order
    text = _status(order)
    if order["tracking_no"] and order["status"] == "已发货":
        call = tools.call("track_shipment", order_id=order["order_id"])
        text += call.error.message if call.error else _shipment(call.result)
    dialog.reach("report_status")
    return dialog.close(text)


def _status(order: Mapping[str, Any]) -> str:
    text = f"订单{order['order_id']}（{order['product']}，{order['price']:g}元）当前状态：{order['status']}。"
    if order["signed_at"]:
        return (
            text
            + f"已于{_minute(order['signed_at'])}签收，由{order['carrier']}配送，运单号{order['tracking_no']}。"
        )
    return text + f"下单时间{_minute(order['ordered_at'])}。"


def _shipment(found: Mapping[str, Any]) -> str:
    return f"已于{_minute(found['shipped_at'])}交{found['carrier']}，运单号{found['tracking_no']}，正在配送途中。"


def _minute(stamp: str) -> str:
    return re.sub(r"T(\d\d:\d\d).*", r" \1", stamp)


def _forget(dialog: Dialog, changed: Mapping[str, str]) -> None:
    if "order_id" in changed:
        dialog.notes.pop("unknown", None)
        dialog.undo("identify_order", "report_status")
    if "phone" in changed:
        dialog.notes.pop("listed", None)
        dialog.notes.pop("choices", None)


ORDER_QUERY = Task("order_query", "订单查询", ("order_id", "phone"), _advance, _advance, _forget)
"""The task of the leaf that looks orders up; it has nothing to confirm."""
