"""One request to a chat model, and its reply: as structured output where the endpoint has that, else plain."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from evalkit.contracts import ChannelError, Question
from evalkit.judges.config import JudgeConfig
from evalkit.judges.parsing import schema
from evalkit.judges.replies import Reply, filtered, reply_in
from evalkit.judges.server import Server
from evalkit.net.exchange import Exchange
from evalkit.questions.wording import messages

__all__ = ["Failed", "Refused", "complete", "parameters"]


class Refused(Exception):
    """The model would not answer."""


class Failed(Exception):
    """The endpoint failed; `error` says how."""

    def __init__(self, error: ChannelError) -> None:
        super().__init__(error.message)
        self.error = error


async def complete(question: Question, server: Server, *, nonce: str, complaint: str, repeat: int) -> Reply:
    """The model's reply, asked for as structured output where the server has that.

    Raises Refused, Failed, or OverBudget.
    """
    body = {
        "messages": messages(question, nonce=nonce, complaint=complaint),
        **parameters(server.config, repeat),
    }
    seen = await _posted(server, body, schema(question, nonce, reason_chars=server.config.reason_chars))
    if filtered(seen.error):
        raise Refused
    if seen.error is not None:
        raise Failed(seen.error)
    reply = reply_in(seen.reply)
    if reply is None:
        raise Failed(ChannelError(kind="bad_reply", message="found no choices[0].message in the reply."))
    return reply


async def _posted(server: Server, body: dict[str, Any], form: dict[str, Any]) -> Exchange:
    """The exchange; an endpoint that cannot have structured output is asked without from then on."""
    max_tokens = _max_tokens(server.config)
    if not server.structured:
        return await server.post("chat/completions", body, max_tokens=max_tokens)
    response_format = {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": form},
    }
    with_format = {**body, "response_format": response_format}
    seen = await server.post("chat/completions", with_format, max_tokens=max_tokens)
    if not _may_lack_schemas(seen.error):
        return seen
    plain = await server.post("chat/completions", body, max_tokens=max_tokens)
    if plain.error is None:
        server.structured = False
    return plain


def _may_lack_schemas(error: ChannelError | None) -> bool:
    bad = (HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY)
    return error is not None and error.http_status in bad and not filtered(error)


def parameters(config: JudgeConfig, repeat: int) -> dict[str, Any]:
    """What is sent with the n-th repeat of a question: each has a seed of its own."""
    seed = config.parameters.get("seed")
    return {**config.parameters, **({"seed": seed + repeat} if isinstance(seed, int) else {})}


def _max_tokens(config: JudgeConfig) -> int:
    told = [config.parameters.get(name) for name in ("max_tokens", "max_completion_tokens")]
    return max([count for count in told if isinstance(count, int)], default=1 << 16)
