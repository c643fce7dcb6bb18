"""Ragent 1.x as a target: the answer stream first, then the evidence endpoint, one observation a case.

Each channel keeps its own status, error, attempts and timings. Documents come from the answer's own stream
where it names its sources, else from the evidence endpoint; intents always from the latter. In a dialog the
evidence is that of the first question.

Beside the kinds of error of every exchange there are `rejected`, `cancelled`, `incomplete` (the stream ended
without a closing event), `stream_error` (an `error` event), `bad_event`, `bad_evidence`, `login` and
`rate_limited`. Flags: `buffered_stream`, `lone_surrogate`, `invalid_utf8`, `unclean_end`, `max_iterations`, `bad_sources`,
`bad_state`, `evidence_mismatch`, `secret_in_answer`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal, get_args

from evalkit.errors import UsageError, shown
from evalkit.kinds import Ask
from evalkit.net.capture import playing
from evalkit.net.keys import STAND_IN_KEY
from evalkit.net.limits import check_address, check_limits
from evalkit.net.transport import client
from evalkit.targets.ragent.asking import Asking
from evalkit.targets.ragent.session import Session

__all__ = ["Engine", "ragent"]

Engine = Literal["workflow", "agent", "auto"]
"""Which of Ragent's engines answers: `auto` gives cases of several turns to the agent engine."""

_HOME = "http://localhost:9090/api/ragent"


@contextlib.asynccontextmanager
async def ragent(  # noqa: PLR0913 - the parameters of a target are its configuration
    *,
    base_url: str | None = None,
    username: str | None = None,
    password: str | None = None,
    engine: Engine = "auto",
    concurrency: int = 8,
    agent_streams: int = 1,
    first_event_deadline_s: float = 30,
    total_deadline_s: float = 120,
    retries: int = 2,
    deep_thinking: bool = False,
    evidence: bool = True,
    use_env_proxy: bool = False,
) -> AsyncIterator[Ask]:
    """A Ragent service, logged in to with RAGENT_USERNAME and RAGENT_PASSWORD.

    Address and login are taken from RAGENT_BASE_URL (else http://localhost:9090/api/ragent), RAGENT_USERNAME
    and RAGENT_PASSWORD where they are not given. Deadlines are seconds by wall clock for each exchange.
    Broken connections, 5xx and 429 are tried again up to `retries` times; only the last try's latency
    counts. `concurrency` sizes the connections kept open. The agent engine lets a user have one stream at a time:
    `agent_streams` says how many dialogs it is given at once. With `evidence` off that channel is skipped.
    Raises UsageError without a login, or where the login is refused or the service cannot be reached.
    """
    if engine not in get_args(Engine):
        raise UsageError(
            f"ragent: found engine {shown(engine)}, wanted one of {', '.join(get_args(Engine))}."
        )
    address = _settled({"base_url": base_url})["base_url"]
    deadlines = {"first_event_deadline_s": first_event_deadline_s, "total_deadline_s": total_deadline_s}
    numbers = {"concurrency": concurrency, "agent_streams": agent_streams, "retries": retries}
    check_limits("ragent", {**numbers, **deadlines})
    session = Session(
        client=client(base_url=address, concurrency=concurrency, use_env_proxy=use_env_proxy),
        username=_setting("RAGENT_USERNAME", username),
        password=_setting("RAGENT_PASSWORD", password),
        first_event_deadline_s=first_event_deadline_s,
        total_deadline_s=total_deadline_s,
    )
    async with session.client:
        error = await session.login()
        if error is not None:
            raise UsageError(f"ragent at {address}: {error.message}")
        yield Asking(
            session=session,
            engine=engine,
            retries=retries,
            deep_thinking=deep_thinking,
            evidence=evidence,
            agent_slots=asyncio.Semaphore(agent_streams),
        ).ask


def _settled(given: Mapping[str, Any]) -> dict[str, Any]:
    """The address that will be asked: as given, else as the environment has it, else the usual one."""
    address = given.get("base_url") or os.environ.get("RAGENT_BASE_URL") or _HOME
    check_address("ragent (RAGENT_BASE_URL)", address)
    return {"base_url": address}


ragent.settle = _settled  # type: ignore[attr-defined]
ragent.over_http = True  # type: ignore[attr-defined]


def _setting(name: str, given: str | None) -> str:
    value = given or (STAND_IN_KEY if playing() else os.environ.get(name))
    if not value:
        raise UsageError(f"ragent: found no {name}; set it in the environment.")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"ragent: {name}: found bytes that are no UTF-8, wanted text.") from None
    return value
