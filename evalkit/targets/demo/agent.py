"""What the system says: an answer from documents, a leaf's fixed reply, a question back, or the next step of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evalkit.targets.demo.acts import cancels, refuses
from evalkit.targets.demo.answers import clarification, extract
from evalkit.targets.demo.conversations import Conversation
from evalkit.targets.demo.dialogs import Dialog, Task, begin, concerns, step
from evalkit.targets.demo.knowledge import Leaf
from evalkit.targets.demo.order_query import ORDER_QUERY
from evalkit.targets.demo.questions import asks
from evalkit.targets.demo.repair_booking import REPAIR_BOOKING
from evalkit.targets.demo.retrieval import Hit, by_document
from evalkit.targets.demo.return_request import RETURN_REQUEST
from evalkit.targets.demo.slots import Reader
from evalkit.targets.demo.tools import Call, Tools
from evalkit.targets.demo.understanding import Part, Understanding

__all__ = ["Agent", "Reply"]

_TASKS = {task.name: task for task in (ORDER_QUERY, REPAIR_BOOKING, RETURN_REQUEST)}
_SURE_OF_CHANGE = 0.5
_SURE_OF_SMALL_TALK = 0.9
_QUESTION = re.compile(r"[?？]|吗|多少|多久|怎么|什么|几[天个年]|能不能|可不可以|要不要")
_OTHER = re.compile(r"另|别的|其他|其它|换一")
_KEPT = ("order_id", "phone", "name", "address")


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the agent: the text, how it came about, what it was taken from, what was called for it."""

    text: str
    thinking: str
    hits: tuple[Hit, ...] = ()
    calls: tuple[Call, ...] = ()
    state: Mapping[str, Any] | None = None


@dataclass(slots=True)
class _Turn:
    """A turn in the making."""

    talk: Conversation
    message: str
    tools: Tools
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Agent:
    """The second half of the pipeline."""

    understanding: Understanding
    reader: Reader

    def reply(self, talk: Conversation, message: str) -> Reply:
        """The answer to `message`; the conversation and its books change accordingly."""
        turn = _Turn(talk, message, Tools(lambda: talk.store))
        text = self._in_task(turn) if talk.dialog and talk.dialog.open else self._fresh(turn)
        talk.turns += 1
        text, calls = self._invented(message, text, turn.tools.calls)
        hits = tuple(sorted((hit for part in turn.parts for hit in part.hits), key=lambda hit: -hit.score))
        return Reply(text, _thinking(turn), hits, calls, _state(talk.dialog))

    def _fresh(self, turn: _Turn) -> str:
        """The answer outside of any task."""
        talk = turn.talk
        turn.parts = self._chosen(turn) or self.understanding.parts(turn.message, previous=talk.previous)
        talk.choice = None
        talk.previous = turn.message
        if len(turn.parts) == 1 and turn.parts[0].ambiguous:
            talk.choice = turn.parts[0]
            turn.parts = (replace(turn.parts[0], hits=()),)
            return clarification(talk.choice.leaves)
        return "\n".join(dict.fromkeys(self._answer(turn, part) for part in turn.parts))

    def _chosen(self, turn: _Turn) -> tuple[Part, ...]:
        """The question that was asked back about, with the leaf that the user now picked."""
        choice = turn.talk.choice
        picked = _picked(choice.leaves, turn.message) if choice else None
        if choice is None or picked is None:
            return ()
        return (self.understanding.searched(Part(choice.question, (picked,), (1.0,)), turn.message),)

    def _answer(self, turn: _Turn, part: Part) -> str:
        leaf = part.leaf
        if leaf and leaf.kind == "SYSTEM":
            return leaf.reply or ""
        if leaf and leaf.kind == "MCP":
            text = part.question if len(turn.parts) > 1 else turn.message
            return self._begin(turn, _TASKS[leaf.task or ""], text)
        return extract(part.question, part.hits, self.understanding.model.index)

    def _begin(self, turn: _Turn, task: Task, text: str) -> str:
        before = turn.talk.dialog
        if before and before.open:
            return f"{task.title}我稍后为您办理，请先完成{_TASKS[before.task].title}。"
        known = before.slots if before and not _OTHER.search(text) else {}
        kept = {name: known[name] for name in _KEPT if name in known}
        turn.talk.dialog, said = begin(task, text, reader=self.reader, tools=turn.tools, known=kept)
        return said

    def _in_task(self, turn: _Turn) -> str:
        """The answer while a task is open: its next step, another task, or an aside before coming back to it."""
        dialog = turn.talk.dialog or Dialog("")
        task = _TASKS[dialog.task]
        part = self.understanding.parts(turn.message)[0]
        leaf = part.leaf if part.scores and part.scores[0] >= _SURE_OF_CHANGE and asks(turn.message) else None
        inside = concerns(dialog, task, turn.message, self.reader)
        if leaf and leaf.task not in (None, task.name) and (not inside or cancels(turn.message)):
            dialog.close("")
            return f"好的，{task.title}先停下，没有提交任何申请。{self._begin(turn, _TASKS[leaf.task], turn.message)}"
        if inside:
            return self._passing(turn, part, leaf) + self._step(turn, task)
        if (leaf and leaf.kind != "MCP") or _is_small_talk(part):
            turn.parts = (part,)
            return f"{self._answer(turn, part)}\n回到{task.title}：{dialog.prompt}"
        return self._step(turn, task)

    def _passing(self, turn: _Turn, part: Part, leaf: Leaf | None) -> str:
        """The answer to a question that a message asks in passing, besides what it says to the task."""
        if leaf is None or leaf.kind != "KB" or refuses(turn.message) or not _QUESTION.search(turn.message):
            return ""
        turn.parts = (part,)
        return f"{self._answer(turn, part)}\n"

    def _step(self, turn: _Turn, task: Task) -> str:
        dialog = turn.talk.dialog or Dialog(task.name)
        return step(dialog, turn.message, task=task, reader=self.reader, tools=turn.tools)

    def _invented(self, message: str, text: str, calls: Sequence[Call]) -> tuple[str, tuple[Call, ...]]:
        """What is said and called, with a call that nobody made where that fault strikes."""
        if not self.understanding.faults.strikes("hallucinate_tool", message):
            return text, tuple(calls)
        call = Call("grant_compensation", {"amount": "50"}, {"granted": True}, None, 1.0)
        return f"{text}\n另外已为您发放50元补偿券。", (*calls, call)


def _is_small_talk(part: Part) -> bool:
    """Whether a message that asks nothing is surely not meant for the task."""
    return bool(part.leaf and part.leaf.kind == "SYSTEM" and part.scores[0] >= _SURE_OF_SMALL_TALK)


def _picked(leaves: Sequence[Leaf], message: str) -> Leaf | None:
    """The leaf that a message picks by number or by name."""
    said = message.strip()
    for number, leaf in enumerate(leaves, 1):
        ordinal = re.match(rf"(第?[{number}{'一二三'[number - 1]}](?!\d)[个项种、.。]?|选{number})", said)
        if leaf.name in said or ordinal:
            return leaf
    return None


def _state(dialog: Dialog | None) -> dict[str, Any]:
    """What the agent reports of the task at hand, or of the last one."""
    if dialog is None:
        return {"task": None, "filledSlots": {}, "doneSteps": []}
    return {"task": dialog.task, "filledSlots": dict(dialog.slots), "doneSteps": list(dialog.done)}


def _thinking(turn: _Turn) -> str:
    """How the answer came about, in words."""
    lines = []
    for part in turn.parts:
        leaf = f"判断为“{part.leaf.name}”（{part.scores[0]:.2f}）" if part.leaf else "没有把握的意图"
        titles = "、".join(f"《{hit.chunk.title}》" for hit in by_document(part.hits)[:3])
        lines.append(f"问题“{part.question}”{leaf}，{f'检索到{titles}' if titles else '不使用文档'}。")
    lines += [f"调用工具 {call.name}，{'失败' if call.error else '成功'}。" for call in turn.tools.calls]
    return "\n".join(lines) or "继续当前任务。"
