"""A task over several turns: gather its slots, call its tools, read back, wait for a yes, act.

What every task shares is here; what each one asks, checks and does is in the module of its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.targets.demo.acts import agrees, cancels, denies, meant, refuses
from evalkit.targets.demo.slots import Reader, chosen
from evalkit.targets.demo.tools import Tools

__all__ = ["Dialog", "Task", "begin", "concerns", "step"]

LABELS = {
    "order_id": "订单号",
    "phone": "手机号",
    "product": "产品",
    "fault": "故障",
    "name": "联系人",
    "address": "上门地址",
    "appointment_time": "上门时间",
    "reason": "退货原因",
}
_MENTIONS = {
    "order_id": r"订单号",
    "phone": r"手机号|电话|号码",
    "product": r"产品|型号",
    "fault": r"故障|毛病",
    "name": r"名字|姓名|联系人|称呼",
    "address": r"地址",
    "appointment_time": r"时间|日期",
    "reason": r"原因|理由",
}
_FORMED = ("order_id", "phone", "appointment_time")
"""Slots whose values have a form of their own: a new value is a correction without further ado."""
_CORRECTS = re.compile(r"不对|错|改|换成|不是|更正|应该是|而是")
_MAX_REFUSALS = 2


@dataclass(slots=True)
class Dialog:
    """Where a task stands: what was said (`slots`), what was done (`done`), what is being waited for.

    `notes` is what the task remembers between turns and does not report.
    """

    task: str
    slots: dict[str, str] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    notes: dict[str, Any] = field(default_factory=dict)
    asked: str | None = None
    prompt: str = ""
    confirming: bool = False
    open: bool = True
    refusals: int = 0

    def reach(self, *steps: str) -> None:
        """Note steps as done, each once."""
        self.done += [step for step in steps if step not in self.done]

    def undo(self, *steps: str) -> None:
        """Steps that must be done anew."""
        self.done = [step for step in self.done if step not in steps]

    def ask(self, slot: str, question: str) -> str:
        """Wait for that slot; the question itself."""
        self.asked, self.confirming, self.prompt = slot, False, question
        return question

    def confirm(self, title: str, slots: tuple[str, ...]) -> str:
        """Read the slots back and wait for a yes."""
        self.asked, self.confirming = None, True
        read_back = "；".join(f"{LABELS[name]}：{self.slots[name]}" for name in slots)
        self.prompt = f"请您核对{title}信息：{read_back}。确认无误请回复“确认”，需要修改请直接告诉我。"
        return self.prompt

    def close(self, text: str) -> str:
        """Nothing more to wait for; the last word."""
        self.asked, self.confirming, self.open = None, False, False
        return text


@dataclass(frozen=True, slots=True)
class Task:
    """What sets one task apart.

    `advance` does what can be done with the slots so far and says what comes next; `commit` acts after the
    yes; `forget` drops what no longer holds once the named slots have changed.
    """

    name: str
    title: str
    slots: tuple[str, ...]
    advance: Callable[[Dialog, Tools], str]
    commit: Callable[[Dialog, Tools], str]
    forget: Callable[[Dialog, Mapping[str, str]], None]


def concerns(dialog: Dialog, task: Task, text: str, reader: Reader) -> bool:
    """Whether a message is about the task: it has a value, or answers what was asked, or gives up."""
    named = "name" if dialog.asked == "name" else None
    found = reader.read(meant(text), task.slots, asked=named) or chosen(
        text, dialog.notes.get("choices", ()), reader.products
    )
    awaited = dialog.confirming and (agrees(text) or denies(text))
    return bool(found) or awaited or cancels(text) or refuses(text)


def step(dialog: Dialog, text: str, *, task: Task, reader: Reader, tools: Tools) -> str:
    """What the agent says to `text` within the task; the dialog and the store change accordingly."""
    changed = _fill(dialog, text, task, reader)
    if changed:
        task.forget(dialog, changed)
        dialog.refusals = 0
        return task.advance(dialog, tools)
    if cancels(text):
        return dialog.close(f"好的，已为您停止{task.title}，没有提交任何申请。还有什么可以帮您？")
    if dialog.confirming:
        return _after_reading_back(dialog, text, task, tools)
    if refuses(text):
        return _refused(dialog, task)
    return f"抱歉，我没有听明白。{dialog.prompt}"


def begin(
    task: Task, text: str, *, reader: Reader, tools: Tools, known: Mapping[str, str]
) -> tuple[Dialog, str]:
    """A new dialog of that task from the message that asks for it, and its first words.

    `known` are values from earlier in the conversation; what the message says goes before them.
    """
    said = reader.read(meant(text), task.slots)
    dialog = Dialog(task.name, notes={"product": reader.products.named(text)})
    dialog.slots = {name: value for name, value in known.items() if name in task.slots} | said
    task.forget(dialog, dialog.slots)
    return dialog, task.advance(dialog, tools)


def _fill(dialog: Dialog, text: str, task: Task, reader: Reader) -> dict[str, str]:
    """Take over the values of a message; those that are new."""
    mentioned = next((slot for slot in task.slots if re.search(_MENTIONS[slot], text)), None)
    idle = cancels(text) or refuses(text) or (dialog.confirming and agrees(text))
    found = reader.read(meant(text), task.slots, asked=None if idle else mentioned or dialog.asked)
    found = found or chosen(text, dialog.notes.get("choices", ()), reader.products)
    asked = mentioned or dialog.asked
    correcting = bool(_CORRECTS.search(text))
    changed = {}
    for name, value in found.items():
        before = dialog.slots.get(name, "")
        free = name in _FORMED or name == asked or correcting or asked not in found or before in value
        free |= name == "product" and reader.products.refines(value, before)
        if free and before != value:
            changed[name] = value
    dialog.slots |= changed
    return changed


def _after_reading_back(dialog: Dialog, text: str, task: Task, tools: Tools) -> str:
    if agrees(text):
        dialog.reach("confirm")
        return task.commit(dialog, tools)
    if denies(text):
        labels = "、".join(LABELS[name] for name in task.slots)
        return f"好的，先不提交。请问哪一项需要修改？（{labels}）"
    return f"抱歉，我没有听明白。{dialog.prompt}"


def _refused(dialog: Dialog, task: Task) -> str:
    label = LABELS[dialog.asked or "phone"]
    dialog.refusals += 1
    if dialog.refusals >= _MAX_REFUSALS:
        return dialog.close(
            f"理解您的顾虑。没有{label}无法继续{task.title}，这次先为您停止，没有提交任何申请。"
        )
    return f"理解您的顾虑，{label}只用于本次{task.title}，缺少它就无法办理。您愿意提供吗？不想继续可以回复“取消”。"
