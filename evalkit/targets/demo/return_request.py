"""Sending an order back: which one, whether the rules let it, why, and then a yes."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.targets.demo.dialogs import Dialog, Task
from evalkit.targets.demo.order_query import identified
from evalkit.targets.demo.tools import Tools

__all__ = ["RETURN_REQUEST"]

_SLOTS = ("order_id", "reason", "phone")
_QUESTIONS = {"reason": "请问退货原因是什么？", "phone": "请提供下单手机号，用于核对订单。"}


def _advance(dialog: Dialog, tools: Tools) -> str:
    if "identify_order" not in dialog.done:
        order = identified(dialog, tools)
        if isinstance(order, str):
            return order
    said = "" if "check_eligibility" in dialog.done else _eligibility(dialog, tools)
    return said + _next(dialog) if dialog.open else said


def _next(dialog: Dialog) -> str:
    """Ask for the first slot that is missing; read all of them back when none is."""
    for slot, question in _QUESTIONS.items():
        if slot not in dialog.slots:
            return dialog.ask(slot, question)
    return dialog.confirm("退货申请", _SLOTS)


def _eligibility(dialog: Dialog, tools: Tools) -> str:
    """Hold the order against the rules and tell the outcome; an order that cannot go back ends the task."""
    call = tools.call("check_return_eligibility", order_id=dialog.slots["order_id"])
    if call.error:
        return dialog.close(f"暂时无法核对退货资格：{call.error.message}。没有提交退货申请。")
    dialog.reach("check_eligibility")
    found = call.result
    if not found["eligible"]:
        return dialog.close(f"很抱歉，{found['product']}不能退货：{found['explanation']}。没有提交退货申请。")
    text = f"{found['product']}可以申请退货，请在{found['last_day']}之前提交。"
    return text + ("入耳式耳机已拆封，只有质量问题可以退。" if found["quality_only"] else "")


def _commit(dialog: Dialog, tools: Tools) -> str:
    call = tools.call("create_return", **{name: dialog.slots[name] for name in _SLOTS})
    if call.error is None:
        dialog.reach("create_return")
        number, refund = call.result["return_id"], call.result["refund"]
        return dialog.close(
            f"退货申请已提交，申请号{number}，验货通过后退款{refund:g}元，请在72小时内寄回商品。"
        )
    dialog.undo("confirm")
    if call.error.code != "PHONE_MISMATCH":
        return dialog.close(f"退货申请没有提交成功：{call.error.message}。")
    dialog.slots.pop("phone")
    return f"退货申请没有提交成功：{call.error.message}。" + dialog.ask("phone", "请重新提供下单手机号。")


def _forget(dialog: Dialog, changed: Mapping[str, str]) -> None:
    if "order_id" in changed:
        dialog.notes.pop("unknown", None)
        dialog.undo("identify_order", "check_eligibility")
    if "phone" in changed:
        dialog.notes.pop("listed", None)
        dialog.notes.pop("choices", None)


RETURN_REQUEST = Task("return_request", "退货申请", _SLOTS, _advance, _commit, _forget)
"""The task of the leaf that takes returns."""
