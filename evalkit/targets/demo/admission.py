"""Who comes in: logins and their tokens, and a limit to how many streams run at once."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

__all__ = ["Accounts", "Gate", "number"]


def number(text: str) -> str:
    """A long decimal id that belongs to `text`: what the real system takes from a snowflake generator."""
    return str(10**18 + int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))


class Accounts:
    """Users by name and password, and the tokens handed out to them."""

    def __init__(self, users: Mapping[str, str], *, token_seconds: float) -> None:
        self._users = dict(users)
        self._seconds = token_seconds
        self._tokens: dict[str, tuple[str, float]] = {}

    def login(self, username: str, password: str) -> str | None:
        """A new token; None when name and password do not belong together."""
        wanted = self._users.get(username)
        if wanted is None or not hmac.compare_digest(wanted.encode(), password.encode()):
            return None
        token = secrets.token_hex(16)
        self._tokens[token] = (username, time.monotonic() + self._seconds)
        return token

    def user(self, token: str) -> str | None:
        """Whose token it is; None when it is nobody's, or too old."""
        username, until = self._tokens.get(token, (None, 0.0))
        return username if time.monotonic() < until else None


class Gate:
    """Lets so many through at once, and makes the others wait, but not for ever."""

    def __init__(self, places: int, *, max_wait_ms: float) -> None:
        self._places = asyncio.Semaphore(places)
        self._max_wait = max_wait_ms / 1000

    @asynccontextmanager
    async def place(self) -> AsyncIterator[bool]:
        """Whether a place became free in time; it is given back at the end."""
        try:
            await asyncio.wait_for(self._places.acquire(), self._max_wait)
        except TimeoutError:
            yield False
            return
        try:
            yield True
        finally:
            self._places.release()
