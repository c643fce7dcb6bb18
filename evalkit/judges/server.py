"""The endpoint that a model is behind: one key, one gate, so many requests at once, and a budget over all.

A 429 closes the gate for everybody; a request is tried again as long as that is worth it, and each try is a
call of the budget.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from evalkit.contracts import Usage
from evalkit.finding.personal import masked
from evalkit.judges.budget import Budget, Prices
from evalkit.judges.config import JudgeConfig
from evalkit.net.exchange import Exchange, fetch
from evalkit.net.gate import Gate
from evalkit.net.masking import Mask
from evalkit.net.retry import persevere
from evalkit.net.transport import client

__all__ = ["Server", "opened", "usage_in"]

_FREE = {"connect", "http_status", "redirect", "rate_limited", "bad_request"}


@dataclass(slots=True)
class Server:
    """One model behind one endpoint, as it may be asked."""

    client: httpx.AsyncClient
    config: JudgeConfig
    budget: Budget
    slots: asyncio.Semaphore
    key: str = field(default="", repr=False)
    mask: Mask = field(default_factory=Mask, repr=False)
    gate: Gate = field(default_factory=Gate)
    structured: bool = True

    def presentable(self, text: str) -> str:
        """A text of others as it may be sent: without secrets, and without personal data where that was asked for."""
        told = self.mask.text(text)
        return masked(told) if self.config.mask_personal else told

    async def post(self, path: str, body: dict[str, Any], *, max_tokens: int = 0) -> Exchange:
        """What came of the request in its last try; OverBudget where a try may cost more than is left."""
        content = json.dumps({"model": self.config.model, **body}, ensure_ascii=False).encode("utf-8")
        worst = self.config.prices.worst(content.decode("utf-8"), max_tokens)
        async with self.slots:
            tries = await persevere(
                lambda: self._try(path, content, worst), retries=self.config.retries, gate=self.gate
            )
        return tries[-1]

    async def _try(self, path: str, content: bytes, worst: float) -> Exchange:
        self.budget.reserve(worst)
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        cost = worst  # of a try that is cancelled, too: nobody knows how far it came
        try:
            request = self.client.build_request("POST", path, content=content, headers=headers)
            seen = await fetch(self.client, request, total_deadline_s=self.config.deadline_s)
            cost = _cost(seen, worst, self.config.prices)
        finally:
            self.budget.settle(worst, cost)
        return seen


@contextlib.asynccontextmanager
async def opened(
    config: JudgeConfig,
    *,
    key: str,
    mask: Mask,
    budget: Budget,
    transport: httpx.AsyncBaseTransport | None = None,
) -> AsyncIterator[Server]:
    """The endpoint of that configuration, open; `transport` stands in for the network."""
    base_url = config.base_url.rstrip("/") + "/"
    http = client(base_url=base_url, concurrency=config.concurrency, transport=transport)
    async with http:
        yield Server(
            http,
            config,
            budget,
            asyncio.Semaphore(config.concurrency),
            key,
            mask,
            structured=config.structured,
        )


def usage_in(reply: Any) -> Usage | None:
    """The tokens that a reply says it took; null where it does not say so in whole numbers."""
    told = reply.get("usage") if isinstance(reply, dict) else None
    if not isinstance(told, dict):
        return None
    counts = {name: told.get(name) for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    if not all(count is None or (type(count) is int and count >= 0) for count in counts.values()):
        return None
    return Usage(**counts)


def _cost(seen: Exchange, worst: float, prices: Prices) -> float:
    """What a try did cost: nothing where the server refused it, the worst where it does not say."""
    if seen.error is not None:
        return 0.0 if seen.error.kind in _FREE else worst
    return prices.actual(usage_in(seen.reply), worst)
