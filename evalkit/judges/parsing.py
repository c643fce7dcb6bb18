"""What a judge may answer, and how its verdict is told from everything else in a reply.

A verdict is one JSON object, alone in the reply, that fits the question's schema and carries the nonce of
this very call. What the judged material says cannot be that: nobody who wrote it knew the nonce. A code fence
around the whole reply is taken off; nothing else is repaired, clamped, rounded or searched for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from evalkit.contracts import Question
from evalkit.reading import decode

__all__ = ["GRADES", "Unusable", "fault", "schema", "verdict_in"]

GRADES = range(11)
"""The grades that a dimension may have."""

_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)


class Unusable(ValueError):
    """A reply that holds no verdict; the message says why, in words of ours and not of the reply."""


def schema(question: Question, nonce: str, *, reason_chars: int | None = None) -> dict[str, Any]:
    """The JSON Schema of the one object that answers `question` under that nonce.

    `reason_chars` bounds the reason, for servers that hold a model to `maxLength`.
    """
    bound = {} if reason_chars is None else {"maxLength": reason_chars}
    flag = {"type": "boolean"}
    grade = {"type": "integer", "minimum": GRADES[0], "maximum": GRADES[-1]}
    texts = {"type": "array", "items": {"type": "string", **bound}}
    parts: dict[str, Any] = {
        "nonce": {"type": "string", "enum": [nonce]},
        "reason": {"type": "string", **bound},
    }
    if question.lists:
        parts["lists"] = _object(dict.fromkeys(question.lists, texts))
    if question.dimensions:
        parts["dimensions"] = _object(dict.fromkeys(question.dimensions, grade))
    if question.items:
        parts["items"] = _object(dict.fromkeys(question.items, flag))
    if question.labels:
        parts["label"] = {"type": "string", "enum": list(question.labels)}
    return _object(parts)


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def verdict_in(reply: str, question: Question, nonce: str) -> dict[str, Any]:
    """The verdict that the reply is, without its nonce; Unusable where it is not exactly one."""
    text = reply.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        said = decode((fenced[1] if fenced else text).encode("utf-8"))
    except ValueError:
        raise Unusable("the reply is not exactly one JSON object") from None
    if said.pop("nonce", None) != nonce:
        raise Unusable("the object does not carry the nonce of this question")
    found = fault(said, question)
    if found is not None:
        raise Unusable(found)
    return said


def fault(said: Mapping[str, Any], question: Question) -> str | None:
    """What keeps an object without nonce from being a verdict on `question`; null where nothing does."""
    wanted = {"reason"} | {name for name in ("dimensions", "items", "lists") if getattr(question, name)}
    wanted |= {"label"} if question.labels else set()
    if set(said) != wanted:
        return f"the object's keys are not exactly nonce, {', '.join(sorted(wanted))}"
    if not isinstance(said["reason"], str):
        return "reason is not a string"
    if question.labels and said["label"] not in list(question.labels):
        return "label is none of the labels"
    for name, holds, what in _PARTS:
        if name in wanted and not _fits(said[name], getattr(question, name), holds):
            return f"{name} does not have exactly the names asked for, each with {what}"
    return None


def _fits(part: object, names: Mapping[str, str], holds: Callable[[object], bool]) -> bool:
    return isinstance(part, dict) and set(part) == set(names) and all(map(holds, part.values()))


def _is_grade(value: object) -> bool:
    return type(value) is int and value in GRADES


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


_PARTS = (
    ("dimensions", _is_grade, "an integer from 0 to 10"),
    ("items", _is_flag, "true or false"),
    ("lists", _is_texts, "a list of strings"),
)
