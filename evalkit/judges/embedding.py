"""Texts to vectors, over an endpoint's `/embeddings`; each text is asked for once and then kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from evalkit.errors import Incomplete
from evalkit.judges.cache import Cache, content_key
from evalkit.judges.server import Server

__all__ = ["embed"]


async def embed(texts: Sequence[str], *, server: Server, cache: Cache) -> list[list[float]]:
    """The vector of each text, in order, all of one length, not normalised; no texts: none.

    Raises Incomplete where the endpoint fails or its vectors cannot be used, OverBudget as for any call.
    """
    masked = [server.presentable(text) for text in texts]
    keys = [
        content_key(endpoint=server.config.base_url, model=server.config.model, text=text) for text in masked
    ]
    known = {key: vector for key in keys if _is_vector(vector := cache.get(key))}
    missing = {key: text for key, text in zip(keys, masked, strict=True) if key not in known}
    if missing:
        vectors = await _asked(list(missing.values()), server)
        for key, vector in zip(missing, vectors, strict=True):
            cache.put(key, vector)
            known[key] = vector
    found = [known[key] for key in keys]
    if len({len(vector) for vector in found}) > 1:
        raise Incomplete(
            f"{server.config.model}: found vectors of several lengths, wanted one; clear the cache."
        )
    return found


async def _asked(texts: list[str], server: Server) -> list[list[float]]:
    seen = await server.post("embeddings", {"input": texts, "encoding_format": "float"})
    if seen.error is not None:
        raise Incomplete(f"{server.config.model}: {server.mask.text(seen.error.message)}")
    vectors = _vectors(seen.reply, len(texts))
    if vectors is None:
        raise Incomplete(f"{server.config.model}: found no {len(texts)} vectors in the reply to /embeddings.")
    return vectors


def _vectors(reply: Any, wanted: int) -> list[list[float]] | None:
    """The vectors of a reply by their `index`; null unless there is exactly one for each text."""
    data = reply.get("data") if isinstance(reply, dict) else None
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        return None
    found = {entry.get("index"): entry.get("embedding") for entry in data}
    if len(data) != wanted or set(found) != set(range(wanted)) or not all(map(_is_vector, found.values())):
        return None
    return [found[place] for place in range(wanted)]


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(part) in (int, float) and math.isfinite(part) for part in value)
        and any(value)
    )
