"""One message, the questions in it: splitting at sentence ends and at the words that start another matter.

A sentence that asks nothing is the setting of the next one that does.
"""

from __future__ import annotations

import re

__all__ = ["asks", "refers_back", "sub_questions"]

MAX_SUB_QUESTIONS = 3
_MIN_LENGTH = 4

_END = re.compile(r"(?<=[?？!！。;；\n])")
_NEXT_MATTER = re.compile(
    r"[,，、]?(?=另外|还有[,，]|还想(?:问|知道)|顺便|对了[,，]|再问|再(?:帮我|请问)|同时(?:想|还|也))"
)
_ASKS = re.compile(
    r"[?？]|吗|呢|么(?!样的)|啥|什么|怎么|怎样|如何|多少|多久|多长|多大|几[天个年次点块]|哪|谁|是否|为何|为什么"
    r"|能不能|可不可以|会不会|有没有|要不要|是不是|好不好|支不支持|行不行|值不值|区别|推荐"
    r"|帮我|帮忙|我想|我要|想要|请问|麻烦|需要|介绍|说说|查一?下"
)
_REFERS = re.compile(
    r"^(那么?|它|这个|那个|这款|那款|这种|该)|(它|这个|那个|这款|那款)(?=[的呢能可会要支多怎])|^.{0,8}呢[?？]?$"
)
_REQUESTS = re.compile(r"我想|我要|帮我|预约|申请|查一?下")
_SHORT = 14


def sub_questions(message: str) -> tuple[str, ...]:
    """The questions in `message` in order, at most three; the message itself where it asks one thing."""
    pieces = [part for sentence in _END.split(message) for part in _NEXT_MATTER.split(sentence)]
    found: list[str] = []
    setting = ""
    for piece in (piece.strip(" ,，、") for piece in pieces):
        setting += piece
        if asks(piece) and len(piece) >= _MIN_LENGTH:
            found.append(setting)
            setting = ""
    return _closed(found, setting) or (message.strip(),)


def asks(text: str) -> bool:
    """Whether `text` asks or requests something."""
    return bool(_ASKS.search(text))


def refers_back(question: str) -> bool:
    """Whether a question is so short, and so worded, that it means nothing without the one before it."""
    return len(question) <= _SHORT and bool(_REFERS.search(question)) and not _REQUESTS.search(question)


def _closed(found: list[str], rest: str) -> tuple[str, ...]:
    """`found` with what came after the last question, and with what is too much, in the last one."""
    if rest and found:
        found = [*found[:-1], found[-1] + rest]
    head, tail = found[: MAX_SUB_QUESTIONS - 1], found[MAX_SUB_QUESTIONS - 1 :]
    return (*head, "".join(tail)) if tail else tuple(head)
