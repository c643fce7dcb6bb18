"""A logged-in user of Ragent: the token, its renewal, and the JSON envelope around every reply.

Errors come as an envelope under HTTP 200, so the envelope's code is what counts. The password and the token
are in no message, no repr and no log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

from evalkit.contracts import ChannelError
from evalkit.net.exchange import Exchange, fetch, stream
from evalkit.net.logs import guard
from evalkit.net.masking import Mask

__all__ = ["Session"]

_OK = "0"
_STOP_S = 5.0  # the deadline of saying that a deadline has passed
_CLIENT_ERROR = "A000001"  # also the code of errors that no new token mends; the text tells them apart
_NOT_LOGGED_IN = "登录"


@dataclass(slots=True)
class Session:
    """What a user may ask of the service, once `login` has gone well.

    Deadlines are seconds of each single exchange.
    """

    client: httpx.AsyncClient
    username: str
    password: str = field(repr=False)
    first_event_deadline_s: float = 30
    total_deadline_s: float = 120
    mask: Mask = field(default_factory=Mask, repr=False)
    _token: str = field(default="", repr=False)
    _renewal: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False)

    def __post_init__(self) -> None:
        guard()
        self.mask.add(self.password)

    async def stream(self, path: str, params: dict[str, str]) -> Exchange:
        """The event stream that `path` answers with."""
        return await self._asked(path, params, self._stream)

    async def fetch(self, path: str, params: dict[str, str]) -> Exchange:
        """The reply of `path`: its whole envelope, with an error where the code is not "0"."""
        return await self._asked(path, params, self._fetch)

    async def stop(self, path: str, task_id: str) -> None:
        """Tell the service that nobody waits for that task any more; whether it heeds that changes nothing here."""
        request = self.client.build_request(
            "POST", path, params={"taskId": task_id}, headers={"Authorization": self._token}
        )
        await fetch(self.client, request, total_deadline_s=_STOP_S)

    async def login(self) -> ChannelError | None:
        """Get a new token; the error of kind `login` if there is none."""
        credentials = {"username": self.username, "password": self.password}
        seen = await self._fetch(self.client.build_request("POST", "auth/login", json=credentials))
        if seen.error is not None:
            return self._login_error(seen.error)
        token = _token_in(seen.reply)
        if token is None:
            return ChannelError(
                kind="login", message="found no usable data.token in the reply to auth/login."
            )
        self._token = token
        self.mask.add(token)
        return None

    async def _asked(
        self, path: str, params: dict[str, str], send: Callable[[httpx.Request], Awaitable[Exchange]]
    ) -> Exchange:
        """The exchange, with a new token and once more where the old one was not taken."""
        token = self._token
        try:
            seen = await send(self._request(path, params))
        except httpx.InvalidURL as why:
            return Exchange(error=ChannelError(kind="bad_request", message=f"the address is no URL: {why}"))
        if not _is_logged_out(seen.error):
            return seen
        error = await self._renew(token)
        if error is not None:
            seen.error = error
            return seen
        return await send(self._request(path, params))

    def _login_error(self, error: ChannelError) -> ChannelError:
        """The error without what a reply to a login may repeat of it: no body, no password."""
        told = error.message.replace(self.password, "***")
        return error.model_copy(update={"kind": "login", "message": f"auth/login: {told}", "body": None})

    async def _renew(self, stale: str) -> ChannelError | None:
        """Log in again unless somebody else has done so since `stale` was read."""
        async with self._renewal:
            return await self.login() if self._token == stale else None

    def _request(self, path: str, params: dict[str, str]) -> httpx.Request:
        return self.client.build_request("GET", path, params=params, headers={"Authorization": self._token})

    async def _stream(self, request: httpx.Request) -> Exchange:
        return await stream(
            self.client,
            request,
            first_event_deadline_s=self.first_event_deadline_s,
            total_deadline_s=self.total_deadline_s,
        )

    async def _fetch(self, request: httpx.Request) -> Exchange:
        seen = await fetch(self.client, request, total_deadline_s=self.total_deadline_s)
        if seen.error is None:
            seen.error = _envelope_error(seen)
        return seen


def _envelope_error(seen: Exchange) -> ChannelError | None:
    reply: Any = seen.reply
    if not isinstance(reply, dict) or "code" not in reply:
        return ChannelError(
            kind="envelope", message="found no code, wanted an envelope.", http_status=seen.http_status
        )
    if str(reply["code"]) == _OK:
        return None
    return ChannelError(
        kind="envelope",
        message=str(reply.get("message") or "no message"),
        http_status=seen.http_status,
        code=str(reply["code"]),
    )


def _is_logged_out(error: ChannelError | None) -> bool:
    if error is None:
        return False
    refused = error.code == _CLIENT_ERROR and _NOT_LOGGED_IN in error.message
    return refused or error.http_status == httpx.codes.UNAUTHORIZED


def _token_in(reply: Any) -> str | None:
    data = reply.get("data")
    token = data.get("token") if isinstance(data, dict) else None
    usable = isinstance(token, str) and token.isascii() and token.isprintable() and token.strip()
    return token if usable else None
