"""A judge with its embedding model, open and within one budget: what measures and rules are given to ask."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.contracts import Judgement, Question
from evalkit.errors import Incomplete
from evalkit.judges.budget import Budget
from evalkit.judges.cache import Cache
from evalkit.judges.chat import chat, identity
from evalkit.judges.config import JudgeConfig, choose
from evalkit.judges.embedding import embed
from evalkit.judges.moderation import moderate
from evalkit.judges.server import Server, opened
from evalkit.kinds import Embed, Judge, Moderate
from evalkit.net.keys import mask_of, resolved

__all__ = ["Panel", "absent", "seated"]


@dataclass(frozen=True, slots=True)
class Panel:
    """Whom to ask: `embed` and `moderate` are null where none is configured."""

    name: str
    judges: Sequence[Judge]
    embed: Embed | None = None
    moderate: Moderate | None = None

    @property
    def judge(self) -> Judge:
        """The judge of a first repeat."""
        return self.judges[0]

    def resources(self, repeat: int) -> dict[str, Any]:
        """What `bind` passes to those who have a parameter of that name."""
        found = {"judge": self.judges[repeat], "embed": self.embed, "moderate": self.moderate}
        return {name: asked for name, asked in found.items() if asked is not None}


@contextlib.asynccontextmanager
async def seated(
    configured: Mapping[str, JudgeConfig],
    name: str,
    *,
    budget: Budget,
    cache: Cache,
    repeats: int = 1,
) -> AsyncIterator[Panel]:
    """The judge of that name and the models it goes with, open; UsageError where a key cannot be found."""
    config = choose(dict(configured), name, role="judge")
    async with contextlib.AsyncExitStack() as stack:
        keys = {
            each: resolved(found.key, place=f"[judges.{each}] key")
            for each, found in _needed(configured, name).items()
        }
        mask = mask_of(*keys.values())

        async def server(which: str) -> Server:
            return await stack.enter_async_context(
                opened(configured[which], key=keys[which], mask=mask, budget=budget)
            )

        main = await server(name)
        judges = [
            functools.partial(chat, server=main, cache=cache, repeat=repeat) for repeat in range(repeats)
        ]
        vectors = (
            functools.partial(embed, server=await server(config.embedding), cache=cache)
            if config.embedding
            else None
        )
        harms = (
            functools.partial(moderate, server=await server(config.moderation), cache=cache)
            if config.moderation
            else None
        )
        yield Panel(identity(config), judges, vectors, harms)


def _needed(configured: Mapping[str, JudgeConfig], name: str) -> dict[str, JudgeConfig]:
    """The judge and whom it goes with; UnknownName where one is not configured in that role."""
    known = dict(configured)
    main = choose(known, name, role="judge")
    found = {name: main}
    if main.embedding is not None:
        found[main.embedding] = choose(known, main.embedding, role="embedding")
    if main.moderation is not None:
        found[main.moderation] = choose(known, main.moderation, role="moderation")
    return found


def absent(config: JudgeConfig, *, repeats: int = 1) -> Panel:
    """Nobody: whoever is asked says that the answer was not recorded. What replay falls back on."""

    async def judge(_question: Question) -> Judgement:
        error = {"kind": "not_recorded", "message": "not in the replayed file"}
        return Judgement(status="judge_error", reason=error["message"], detail={"error": error})

    async def vectors(_texts: Sequence[str]) -> Sequence[Sequence[float]]:
        raise Incomplete("not in the replayed file")

    return Panel(identity(config), [judge] * repeats, vectors if config.embedding else None)
