"""What a chat completion holds, and whether it is a refusal: of the model, or of a filter before it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from evalkit.contracts import ChannelError, Usage
from evalkit.judges.server import usage_in

__all__ = ["Reply", "filtered", "refuses", "reply_in"]

_REFUSAL = re.compile(
    r"(?:很?抱歉|对不起|我(?:无法|不能|不便)|作为一个?(?:AI|人工智能)|i['’]m (?:very )?sorry|i am sorry|sorry|"
    r"i (?:cannot|can['’]t|am unable)|as an ai)",
    re.IGNORECASE,
)
_FILTERS = (
    "content_filter",
    "content_policy",
    "responsible_ai",
    "data_inspection_failed",
    "moderation_blocked",
)


class Reply(NamedTuple):
    """The first choice of a completion; `refused` says that the server marks it as a refusal, `cut` as too long."""

    text: str
    refused: bool
    cut: bool
    usage: Usage | None
    served_by: str


def reply_in(body: Any) -> Reply | None:
    """The reply in the body of a completion; null where it has not the shape of one."""
    try:
        choice = body["choices"][0]
        message = choice["message"]
        content = message.get("content")
    except (TypeError, KeyError, IndexError, AttributeError):
        return None
    if not isinstance(content, str | None):
        return None
    ending = choice.get("finish_reason")
    return Reply(
        text=content or "",
        refused=bool(message.get("refusal")) or ending == "content_filter",
        cut=ending == "length",
        usage=usage_in(body),
        served_by="/".join(str(body[part]) for part in ("model", "system_fingerprint") if body.get(part))[
            :200
        ],
    )


def refuses(text: str) -> bool:
    """Whether a reply without verdict begins as refusals do."""
    return _REFUSAL.match(text.strip()) is not None


def filtered(error: ChannelError | None) -> bool:
    """Whether the endpoint's error is that of a content filter."""
    told = f"{error.code} {error.body}".lower() if error is not None and error.http_status else ""
    return any(name in told for name in _FILTERS)
