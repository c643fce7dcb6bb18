"""Asking again: what is worth it, and how long to wait before.

Every try is kept: the last one is the result, the others show how flaky the way to it was.
"""

from __future__ import annotations

import asyncio
import email.utils
import random
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Protocol, TypeVar

from evalkit.contracts import ChannelError
from evalkit.net.gate import Gate

__all__ = ["Try", "persevere", "retry_after_s"]

_BROKEN = {"connect", "disconnected", "incomplete_read"}
_MAX_RETRY_AFTER_S = 120.0
_FIRST_PAUSE_S = 0.5
_LONGEST_PAUSE_S = 30.0


class Try(Protocol):
    """One try of something: why it failed, and the `Retry-After` header that came with it."""

    error: ChannelError | None
    retry_after: str | None


_T = TypeVar("_T", bound=Try)


async def persevere(once: Callable[[], Awaitable[_T]], *, retries: int, gate: Gate) -> list[_T]:
    """All the tries of `once`, at least one: again after a broken connection, a 5xx or a 429.

    A `Retry-After` of up to 120 s is waited for; one beyond that ends the trying as `rate_limited`, since
    asking sooner would be worse. Otherwise the pause is drawn from 0 to 0.5 s, 1 s, 2 s, … 30 s.
    """
    tries: list[_T] = []
    while True:
        await gate.wait()
        last = await once()
        tries.append(last)
        pause = _pause(last, len(tries), gate)
        if pause is None or len(tries) > retries:
            return tries
        await asyncio.sleep(pause)


def _pause(last: Try, tries: int, gate: Gate) -> float | None:
    """How long to wait before the next try; None where none is worth it."""
    if not _passing(last.error):
        return None
    asked = retry_after_s(last.retry_after, now=datetime.now(UTC))
    if asked is not None and asked > _MAX_RETRY_AFTER_S:
        last.error = _rate_limited(last.error, asked)
        return None
    pause = asked or _jitter(min(_FIRST_PAUSE_S * 2 ** (tries - 1), _LONGEST_PAUSE_S))
    if last.error is not None and last.error.http_status == HTTPStatus.TOO_MANY_REQUESTS:
        gate.close(pause)
    return pause


def _passing(error: ChannelError | None) -> bool:
    """Whether the error is of a kind that goes away by itself."""
    if error is None:
        return False
    status = error.http_status or 0
    throttled = status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return error.kind in _BROKEN or (error.kind == "http_status" and throttled)


def _rate_limited(error: ChannelError | None, asked: float) -> ChannelError:
    message = f"asked to wait {asked:g} s, wanted at most {_MAX_RETRY_AFTER_S:g} s."
    return (error or ChannelError(kind="")).model_copy(update={"kind": "rate_limited", "message": message})


def retry_after_s(header: str | None, *, now: datetime) -> float | None:
    """Seconds that the header asks to wait, from a number or an HTTP date; None where it asks for nothing.

    Zero, negative, past and unreadable values ask for nothing. A date without a zone is UTC.
    """
    value = (header or "").strip()
    if re.fullmatch(r"\d+(\.\d+)?", value, re.ASCII):
        return float(value) or None
    try:
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, OverflowError):  # the second of a zone that is days away
        return None
    left = (when.replace(tzinfo=when.tzinfo or UTC) - now).total_seconds()
    return left if left > 0 else None


def _jitter(most: float) -> float:
    return random.uniform(0, most)  # noqa: S311 - to spread callers, not to keep secrets
