"""What of a record is shown to a judge, and whether there is anything to judge."""

from __future__ import annotations

import json

from evalkit.contracts import EvalRecord

__all__ = ["answered", "contexts", "numbered", "question", "transcript"]


def answered(record: EvalRecord) -> bool:
    """Whether there is an answer: a channel that failed has none, whatever had come of it."""
    return record.answer_status == "ok" and bool((record.response or "").strip())


def question(record: EvalRecord) -> str:
    """What the answer answers: the last thing that the user said."""
    return record.user_turns[-1]


def transcript(record: EvalRecord) -> str:
    """The dialog from its beginning, one line a message, as JSON so that no message can pose as another's."""
    turns = [(turn.sent_message, turn.reply) for turn in record.dialog]
    turns = turns or [(question(record), record.response or "")]
    messages = [
        {"turn": number, "role": role, "text": text}
        for number, turn in enumerate(turns, start=1)
        for role, text in zip(("user", "agent"), turn, strict=True)
    ]
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)


def numbered(prefix: str, texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """The texts by the names `prefix` 1, 2, …"""
    return {f"{prefix}{number}": text for number, text in enumerate(texts, start=1)}


def contexts(record: EvalRecord) -> tuple[str, ...]:
    """The retrieved texts that are not empty, best first; none where none was seen."""
    return tuple(text for text in record.retrieved_contexts or () if text.strip())
