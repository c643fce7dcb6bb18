"""Booking a repair at home: what is broken and how, who and where, when, and then a yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.targets.demo.dates import PERIODS
from evalkit.targets.demo.dialogs import Dialog, Task
from evalkit.targets.demo.tools import Tools

__all__ = ["REPAIR_BOOKING"]

_SLOTS = ("product", "fault", "name", "phone", "address", "appointment_time")
_QUESTIONS = {
    "product": "请问需要维修的是哪款产品？",
    "fault": "请问具体是什么故障？",
    "name": "请问联系人怎么称呼？",
    "phone": "请提供联系手机号（最好是下单时的手机号）。",
    "address": "请提供上门地址。",
}
_ON_SITE_FEE = 60


def _advance(dialog: Dialog, tools: Tools) -> str:
    said = ""
    if {"product", "fault"} <= dialog.slots.keys():
        dialog.reach("identify_product")
    for slot, question in _QUESTIONS.items():
        if slot not in dialog.slots:
            return said + dialog.ask(slot, question)
        if slot == "phone" and "warranty" not in dialog.notes:
            said = _warranty(dialog, tools)
            if not dialog.open:
                return said
    dialog.reach("collect_contact")
    return said + _time(dialog, tools)


def _warranty(dialog: Dialog, tools: Tools) -> str:
    """Look the warranty up and tell it; a product that nobody comes for ends the task."""
    call = tools.call("check_warranty", product=dialog.slots["product"], phone=dialog.slots["phone"])
    dialog.notes["warranty"] = True
    if call.error:
        return f"{call.error.message}，暂时无法确认保修，可能按保外收费；手机号有误请告诉我更正。"
    found: dict[str, Any] = call.result
    if not found["on_site"]:
        return dialog.close(f"{found['product']}不支持上门维修，只能寄修或到店维修，因此无法为您预约上门。")
    if found["in_warranty"]:
        return f"已查到您的{found['product']}在保修期内（至{found['until']}）。"
    return f"您的{found['product']}已于{found['until']}过保，上门维修收取上门费{_ON_SITE_FEE}元，零件另计。"


def _time(dialog: Dialog, tools: Tools) -> str:
    """Ask for what is missing of the time, hold it against the free slots, then read all of it back."""
    day, period = dialog.notes.get("day"), dialog.notes.get("period")
    if day is None:
        return dialog.ask("appointment_time", "请问希望哪天上门？上午、下午还是晚上？可约7天之内。")
    if "check_slots" not in dialog.done:
        refusal = _unavailable(dialog, tools)
        if refusal:
            return refusal
    if period is None:
        free = "、".join(dialog.notes["free"])
        return dialog.ask("appointment_time", f"{day}可约{free}，请问您选哪个时段？")
    return dialog.confirm("维修预约", _SLOTS)


def _unavailable(dialog: Dialog, tools: Tools) -> str | None:
    """Why the wished time cannot be had, and what could; None where it can, and the step is done."""
    day, period = dialog.notes["day"], dialog.notes.get("period")
    why = _look_up(dialog, tools, day)
    free = dialog.notes["free"]
    if free and period in (None, *free):
        if period:
            dialog.reach("check_slots")
        return None
    dialog.slots.pop("appointment_time", None)
    dialog.notes["period"] = None
    if free:
        choices = "、".join(free)
        return dialog.ask("appointment_time", f"{day}{period}已约满，当天还可约{choices}，请问您选哪个时段？")
    dialog.notes["day"] = None
    return dialog.ask("appointment_time", f"{why}。请问换成哪一天？")


def _look_up(dialog: Dialog, tools: Tools, day: str) -> str:
    """Note the free periods of a day, asked for once a day; why there are none, where there are none."""
    if dialog.notes.get("checked") != day:
        call = tools.call("list_repair_slots", date=day)
        free = [] if call.error else [slot["period"] for slot in call.result["slots"]]
        dialog.notes["checked"] = day
        dialog.notes["free"] = sorted(free, key=PERIODS.index)
        dialog.notes["why"] = call.error.message if call.error else f"{day}的时段都已约满"
    return str(dialog.notes["why"])


def _commit(dialog: Dialog, tools: Tools) -> str:
    day, period = dialog.slots["appointment_time"].split(" ")
    contact = {name: dialog.slots[name] for name in _SLOTS[:-1]}
    call = tools.call("create_repair_booking", **contact, date=day, period=period)
    if call.error:
        dialog.undo("confirm", "check_slots")
        dialog.notes.pop("checked", None)
        return f"没有预约成功：{call.error.message}。{_time(dialog, tools)}"
    dialog.reach("book")
    number = call.result["booking_id"]
    return dialog.close(
        f"预约成功，预约号{number}，工程师将于{day}{period}上门，请保持手机{contact['phone']}畅通。"
    )


def _forget(dialog: Dialog, changed: Mapping[str, str]) -> None:
    if changed.keys() & {"product", "phone"}:
        dialog.notes.pop("warranty", None)
    if "appointment_time" in changed:
        _merge_time(dialog, changed["appointment_time"])
        dialog.undo("check_slots")


def _merge_time(dialog: Dialog, said: str) -> None:
    """A new day keeps the part of the day that was said before, and the other way round."""
    for part in said.split(" "):
        dialog.notes["period" if part in PERIODS else "day"] = part
    day, period = dialog.notes.get("day"), dialog.notes.get("period")
    if day and period:
        dialog.slots["appointment_time"] = f"{day} {period}"
    else:
        dialog.slots.pop("appointment_time", None)


REPAIR_BOOKING = Task("repair_booking", "维修预约", _SLOTS, _advance, _commit, _forget)
"""The task of the leaf that books repairs."""
