"""Dialogs as a judge reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Literal, TypeAlias

from evalkit.contracts import EvalRecord, Turn

__all__ = ["DialogFormat", "exchanges", "transcript"]

DialogFormat: TypeAlias = Literal["json", "text"]
"""How a judge gets a dialog: as lines of JSON, in which no message can pose as two, or as lines of a play."""


def exchanges(record: EvalRecord) -> Sequence[Turn]:
    """The turns of the record; an answer without a dialog is one turn, no answer is none."""
    if record.dialog or record.response is None:
        return record.dialog
    turn = Turn(
        sent_message=record.user_turns[-1],
        reply=record.response,
        thinking=record.thinking,
        ttft_ms=record.ttft_ms,
        latency_ms=record.total_ms,
        tool_calls=record.tool_calls or (),
    )
    return (turn,)


def transcript(dialog: Sequence[Turn], style: DialogFormat = "json") -> str:
    """The dialog from its beginning, one line a message."""
    if style == "text":
        return "\n".join(f"用户：{turn.sent_message}\n助手：{turn.reply}" for turn in dialog)
    messages = [
        {"turn": number, "role": role, "text": text}
        for number, turn in enumerate(dialog, start=1)
        for role, text in (("user", turn.sent_message), ("agent", turn.reply))
    ]
    return "\n".join(json.dumps(message, ensure_ascii=False) for message in messages)
