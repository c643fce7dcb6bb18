"""Categories of harm that a text falls into, over an endpoint's `/moderations`."""

from __future__ import annotations

from typing import Any

from evalkit.contracts import ChannelError, Judgement
from evalkit.judges.budget import OverBudget
from evalkit.judges.cache import Cache, content_key
from evalkit.judges.server import Server

__all__ = ["moderate"]


async def moderate(text: str, *, server: Server, cache: Cache) -> Judgement:
    """`label` is `flagged` or `clean`, `detail["items"]` has true or false by category; no score.

    What the endpoint does not answer is no clean text: then `status` says why there is no verdict.
    """
    masked = server.presentable(text)
    key = content_key(endpoint=server.config.base_url, model=server.config.model, moderated=masked)
    kept = cache.get(key)
    if _fits(kept):
        return _judgement(kept, server, cached=True)
    try:
        seen = await server.post("moderations", {"input": masked})
    except OverBudget as error:
        return _none("over_budget", ChannelError(kind="over_budget", message=str(error)), server)
    if seen.error is not None:
        return _none("judge_error", seen.error, server)
    said = _said(seen.reply)
    if said is None:
        bad = ChannelError(kind="bad_reply", message="found no results[0] with flagged and categories.")
        return _none("judge_error", bad, server)
    cache.put(key, said)
    return _judgement(said, server, cached=False)


def _said(reply: Any) -> dict[str, Any] | None:
    try:
        result = reply["results"][0]
        said = {"flagged": result["flagged"], "categories": result["categories"]}
    except (TypeError, KeyError, IndexError):
        return None
    return said if _fits(said) else None


def _fits(said: Any) -> bool:
    if not isinstance(said, dict) or set(said) != {"flagged", "categories"}:
        return False
    categories = said["categories"]
    flags = [said["flagged"], *categories.values()] if isinstance(categories, dict) else [None]
    return all(isinstance(flag, bool) for flag in flags)


def _judgement(said: dict[str, Any], server: Server, *, cached: bool) -> Judgement:
    harms = [name for name, holds in said["categories"].items() if holds]
    return Judgement(
        label="flagged" if said["flagged"] else "clean",
        reason=", ".join(harms),
        detail={"items": said["categories"]},
        judge=server.config.model,
        cached=cached,
    )


def _none(status: Any, error: ChannelError, server: Server) -> Judgement:
    detail = {"error": server.mask.value(error.model_dump(exclude_none=True))}
    return Judgement(
        status=status, reason=server.mask.text(error.message), detail=detail, judge=server.config.model
    )
