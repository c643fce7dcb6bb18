"""The evidence channel of a declarative target: a lookup of its own, or the trace of the answer, asked until it is there.

Errors beside those of every exchange: `envelope` (a failure that the spec names), `bad_evidence` (the reply cannot be
read as its paths want it), `trace_late` (never there).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from evalkit.contracts import ChannelError
from evalkit.net.capture import again
from evalkit.net.exchange import Exchange, timings
from evalkit.net.wire import excerpt, joined, storable
from evalkit.targets.channels import Evidence
from evalkit.targets.http.documents import DocIds, DocumentLog, intents, listed
from evalkit.targets.http.paths import select
from evalkit.targets.http.spec import EvidenceSpec

__all__ = ["looked_up"]


async def looked_up(
    spec: EvidenceSpec, fetch: Callable[[], Awaitable[Exchange]], doc_ids: DocIds
) -> Evidence:
    """The evidence in the reply; while `until` does not hold of it, it is fetched again, up to `within_s`."""
    gives_up_at = time.monotonic() + spec.within_s
    while True:
        seen = await fetch()
        evidence = _read(spec, seen, doc_ids)
        if evidence is not None:
            return evidence
        if not again(if_=time.monotonic() + spec.every_s <= gives_up_at):
            message = f"wanted {spec.until} within {spec.within_s:g} s."
            return Evidence(error=ChannelError(kind="trace_late", message=message), timings=timings(seen))
        await asyncio.sleep(spec.every_s)


def _read(spec: EvidenceSpec, seen: Exchange, doc_ids: DocIds) -> Evidence | None:
    """The evidence in one reply; None where it is not there yet."""
    evidence = Evidence(error=seen.error, timings=timings(seen), retry_after=seen.retry_after)
    if seen.error is not None:
        return evidence
    try:
        evidence.error = _failure(spec, seen)
        if evidence.error is None and spec.until and not select(spec.until, seen.reply):
            return None
        if evidence.error is None:
            evidence.ids = _ids(spec, seen.reply)
            evidence.observed = _observed(spec, seen.reply, doc_ids)
    except ValueError as why:
        evidence.error = ChannelError(
            kind="bad_evidence", message=excerpt(f"{why}."), http_status=seen.http_status
        )
    return evidence


def _ids(spec: EvidenceSpec, reply: Any) -> dict[str, str]:
    found = {name: select(path, reply) for name, path in spec.ids.items()}
    return {name: joined([str(value)]).text for name, value in found.items() if value is not None}


def _failure(spec: EvidenceSpec, seen: Exchange) -> ChannelError | None:
    for failure in spec.failures:
        if select(failure.when, seen.reply):
            message, code = (storable(select(path, seen.reply)) for path in (failure.message, failure.code))
            return ChannelError(
                kind="envelope",
                message="" if message is None else excerpt(str(message)),
                code=None if code is None else excerpt(str(code)),
                http_status=seen.http_status,
            )
    return None


def _observed(spec: EvidenceSpec, reply: Any, doc_ids: DocIds) -> dict[str, Any]:
    """What was found, under the names of an observation; a reply without its documents is no empty retrieval."""
    observed: dict[str, Any] = {}
    if spec.documents:
        log = DocumentLog(doc_ids)
        if log.take(spec.documents, reply) is None:
            raise ValueError(f"found nothing at {spec.documents.each}, wanted documents")
        observed |= log.observed()
    if (intent := storable(select(spec.intent, reply))) is not None:
        observed |= intents(intent)
    questions = storable(select(spec.sub_questions, reply))
    if questions is not None:
        observed["sub_questions"] = tuple(map(str, listed(questions)))
    return observed
