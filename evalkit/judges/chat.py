"""The judge: a question put to a chat model, its verdict read strictly, once asked again, else an error.

status          there is no verdict because
judge_error     the reply holds none (`detail.raw` keeps it), the endpoint failed (`detail.error`), or the
                material is too long (`detail.error.kind` is `too_long`)
judge_refused   the model, or the filter before it, would not answer
over_budget     the call might have cost more than was left
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from evalkit.contracts import ChannelError, Judgement, Question, Usage
from evalkit.judges.budget import OverBudget
from evalkit.judges.cache import Cache, content_key
from evalkit.judges.completion import Failed, Refused, complete, parameters
from evalkit.judges.config import JudgeConfig
from evalkit.judges.fitting import fitted
from evalkit.judges.parsing import Unusable, fault, schema, verdict_in
from evalkit.judges.replies import Reply, refuses
from evalkit.judges.server import Server
from evalkit.questions.wording import messages, version

__all__ = ["chat", "identity"]

_TRIES = 2
_RAW_CHARS = 4096
_REASON_CHARS = 2000


@dataclass(slots=True)
class _Asked:
    """What came of asking so far."""

    raw: str = ""
    usage: Usage | None = None
    served_by: str = ""
    truncated: bool = False
    complaint: str = ""

    def add(self, reply: Reply) -> None:
        self.raw, self.served_by = reply.text, reply.served_by
        self.usage = Usage.summed((self.usage, reply.usage))


def identity(config: JudgeConfig) -> str:
    """The judge as verdicts name it: the model, and the version of all that it is told and sent."""
    told = content_key(prompts=version(), parameters=config.parameters, limits=_limits(config))
    return f"{config.model}@{told[:12]}"


def _limits(config: JudgeConfig) -> list[Any]:
    shown = ["masked"] if config.mask_personal else []
    return [config.context_chars, config.overflow, config.reason_chars, *shown]


async def chat(question: Question, *, server: Server, cache: Cache, repeat: int = 0) -> Judgement:
    """What the model behind `server` says to the question; the n-th repeat is asked with another seed.

    The same question, asked of the same model with the same words and parameters, is answered from the cache.
    Never raises for what the model or its server did.
    """
    whole = _presentable(question, server)
    asked = _Asked()
    short = fitted(whole, server.config.context_chars, overflow=server.config.overflow)
    if short is None:
        return _none(server, asked, "judge_error", _too_long(server.config))
    asked.truncated = short != whole
    key = _key(short, server, repeat)
    kept = _kept(cache.get(key), short, asked)
    if kept is not None:
        return _judgement(kept, short, server, asked, cached=True)
    return await _answered(short, server, asked, key=key, cache=cache, repeat=repeat)


def _presentable(question: Question, server: Server) -> Question:
    told = Question.model_validate(server.mask.value(question.model_dump()))
    material = {role: server.presentable(text) for role, text in told.material.items()}
    return told.model_copy(update={"material": material})


async def _answered(
    question: Question, server: Server, asked: _Asked, *, key: str, cache: Cache, repeat: int
) -> Judgement:
    try:
        said = await _verdict(question, server, asked, repeat)
    except OverBudget as error:
        return _none(server, asked, "over_budget", ChannelError(kind="over_budget", message=str(error)))
    except Refused:
        return _none(
            server, asked, "judge_refused", ChannelError(kind="refused", message="the model refused.")
        )
    except Failed as error:
        return _none(server, asked, "judge_error", error.error)
    if said is None:
        return _none(server, asked, "judge_error", ChannelError(kind="unusable", message=asked.complaint))
    told = server.mask.value(said)
    judgement = _judgement(told, question, server, asked, cached=False)
    if fault(told, question) is None:
        cache.put(key, {"said": told, "served_by": asked.served_by})
    return judgement


def _kept(entry: Any, question: Question, asked: _Asked) -> dict[str, Any] | None:
    """The verdict of a cache entry; null where it is none that answers the question."""
    said = entry.get("said") if isinstance(entry, dict) else None
    if not isinstance(said, dict) or fault(said, question) is not None:
        return None
    asked.served_by = str(entry.get("served_by") or "")
    return said


async def _verdict(question: Question, server: Server, asked: _Asked, repeat: int) -> dict[str, Any] | None:
    """The verdict of the first or the second reply; null where neither is one."""
    for _ in range(_TRIES):
        nonce = secrets.token_hex(16)
        reply = await complete(question, server, nonce=nonce, complaint=asked.complaint, repeat=repeat)
        asked.add(reply)
        if reply.refused:
            raise Refused
        try:
            return verdict_in(reply.text, question, nonce)
        except Unusable as error:
            if refuses(reply.text):
                raise Refused from error
            asked.complaint = "the reply was cut off at its longest length" if reply.cut else str(error)
    return None


def _key(question: Question, server: Server, repeat: int) -> str:
    """The hash of all that could change the answer; the nonce, which could not, is left blank."""
    config = server.config
    return content_key(
        endpoint=config.base_url,
        model=config.model,
        parameters=parameters(config, repeat),
        messages=messages(question, nonce=""),
        schema=schema(question, "", reason_chars=config.reason_chars),
        version=version(),
        repeat=repeat,
    )


def _judgement(
    said: dict[str, Any], question: Question, server: Server, asked: _Asked, *, cached: bool
) -> Judgement:
    detail = {name: said[name] for name in ("dimensions", "items", "lists") if name in said}
    return Judgement(
        score=_score(said),
        label=said.get("label"),
        reason=said["reason"][:_REASON_CHARS],
        detail={**detail, **_remarks(asked), "question": question.name},
        judge=identity(server.config),
        cached=cached,
        usage=asked.usage,
    )


def _score(said: dict[str, Any]) -> float | None:
    """The mean grade ÷ 10, else the share of items that hold."""
    if "dimensions" in said:
        return float(sum(said["dimensions"].values()) / len(said["dimensions"]) / 10)
    if "items" in said:
        return float(sum(said["items"].values()) / len(said["items"]))
    return None


def _remarks(asked: _Asked) -> dict[str, Any]:
    served = {"served_by": asked.served_by} if asked.served_by else {}
    return served | ({"truncated": True} if asked.truncated else {})


def _none(server: Server, asked: _Asked, status: Any, error: ChannelError) -> Judgement:
    """No verdict, and why: with the raw reply where there was one, secrets blacked out."""
    told = {"error": error.model_dump(exclude_none=True), **_remarks(asked)}
    if asked.raw:
        told["raw"] = asked.raw[:_RAW_CHARS]
    detail = json.loads(json.dumps(server.mask.value(told)))
    reason = server.mask.text(error.message)
    return Judgement(
        status=status, reason=reason, detail=detail, judge=identity(server.config), usage=asked.usage
    )


def _too_long(config: JudgeConfig) -> ChannelError:
    message = f"the material is longer than context_chars = {config.context_chars}; nothing was asked."
    return ChannelError(kind="too_long", message=message)
