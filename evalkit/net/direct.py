"""An httpx transport of our own: HTTP/1.1 over asyncio, stamped at the socket, with connections kept alive.

There is no limit on connections and nothing to wait for, so a cancelled request has no slot to take with it:
its connection is broken off, whatever it was doing. A connection is used again only where nothing has come
from the server since, not even its end; a request is never sent twice.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import NamedTuple

import httpx

from evalkit.net.connection import Connection, Wakes
from evalkit.net.http1 import Head, ResponseReader, request_bytes
from evalkit.net.stamps import Stamped, Stamps

__all__ = ["DirectTransport"]

_REST_S = 4.0
"""How long a connection may rest; many servers end one after 5 s, and a request must not cross that end."""
_NEXT_ADDRESS_S = 0.25
"""The wait for one address of a host before the next is tried beside it (RFC 8305)."""
_READ_BYTES = 1 << 16
"""What one read takes at most: all of it gets one stamp."""
_PORTS = {"http": 80, "https": 443}


class _Origin(NamedTuple):
    scheme: str
    host: str
    port: int


class DirectTransport(httpx.AsyncBaseTransport):
    """Requests straight to their servers; `max_resting` connections are kept for later.

    `tls` makes the context that certificates are checked with, when the first is needed. A response has its
    `Stamps` under the extension `stamps` and its `StampedBody` under `body`.
    """

    def __init__(self, *, max_resting: int, tls: Callable[[], ssl.SSLContext]) -> None:
        self._max_resting = max_resting
        self._tls = tls
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._wakes = Wakes()
        self._context: ssl.SSLContext | None = None
        self._resting: defaultdict[_Origin, list[Connection]] = defaultdict(list)
        self._busy: set[Connection] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The head of the response; its body is read from the socket as it is asked for."""
        stamps: Stamps = request.extensions.setdefault("stamps", Stamps())
        stamps.handed_at = time.perf_counter()
        origin = _origin(request.url)
        data = request_bytes(request, await request.aread())
        connection = self._rested(origin) or await self._connected(origin, stamps)
        self._busy.add(connection)
        body = _Body(connection, request.method, stamps, partial(self._release, origin, connection))
        try:
            connection.send(data, stamps)
            head = await body.head()
        except BaseException:
            await body.aclose()
            raise
        return httpx.Response(
            head.status,
            headers=head.headers,
            stream=body,
            extensions={
                "stamps": stamps,
                "body": body,
                "reason_phrase": head.reason,
                "http_version": b"HTTP/1." + head.version,
            },
        )

    async def aclose(self) -> None:
        """End every connection, whatever is under way."""
        for connection in [*self._busy, *itertools.chain(*self._resting.values())]:
            connection.abort()
        self._busy.clear()
        self._resting.clear()
        await asyncio.sleep(0)  # the loop closes sockets in its next turn

    def _rested(self, origin: _Origin) -> Connection | None:
        """The connection that rested shortest, if it still serves; those that do not are ended."""
        resting = self._resting[origin]
        while resting:
            connection = resting.pop()
            if connection.fresh(within_s=_REST_S):
                return connection
            connection.abort()
        return None

    def _release(self, origin: _Origin, connection: Connection, reader: ResponseReader) -> None:
        """Let the connection rest after a whole response, if there is room; else end it."""
        self._busy.discard(connection)
        room = sum(map(len, self._resting.values())) < self._max_resting
        if reader.reusable and room and connection.rest():
            self._resting[origin].append(connection)
        else:
            connection.abort()

    async def _connected(self, origin: _Origin, stamps: Stamps) -> Connection:
        stamps.connecting_at = time.perf_counter()
        secure = origin.scheme == "https"
        try:
            _, connection = await asyncio.get_running_loop().create_connection(
                partial(Connection, self._buffer, self._wakes),
                origin.host,
                origin.port,
                ssl=self._tls_context() if secure else None,
                server_hostname=origin.host if secure else None,
                happy_eyeballs_delay=None if _is_address(origin.host) else _NEXT_ADDRESS_S,
            )
        except (OSError, ValueError) as error:  # names that cannot be looked up are ValueErrors
            raise httpx.ConnectError(str(error)) from error
        stamps.connected_at = time.perf_counter()
        return connection

    def _tls_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._tls()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context


class _Body(httpx.AsyncByteStream):
    """A response as it is read: first its head, then the pieces of its body, each with its arrival."""

    def __init__(
        self, connection: Connection, method: str, stamps: Stamps, release: Callable[[ResponseReader], None]
    ) -> None:
        self._connection = connection
        self._reader = ResponseReader(method)
        self._stamps = stamps
        self._release: Callable[[ResponseReader], None] | None = release
        self._ready: list[Stamped] = []
        self._error: httpx.HTTPError | None = None

    async def head(self) -> Head:
        while self._reader.head is None:
            await self._read()
        return self._reader.head

    async def stamped(self) -> AsyncIterator[Stamped]:
        while True:
            ready, self._ready = self._ready, []
            for piece in ready:
                yield piece
            if self._reader.done:
                return
            await self._read()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.stamped():
            yield piece.data

    async def aclose(self) -> None:
        """Give the connection back; never waits, so that no cancellation can come between."""
        if self._release is not None:
            release, self._release = self._release, None
            release(self._reader)

    async def _read(self) -> None:
        """Take what has arrived; what was wrong with it is raised once the good part before it has been read."""
        if self._error is not None:
            raise self._error
        arrived = await self._connection.arrivals()
        try:
            for data, at in arrived:
                self._take(data, at)
            if not arrived:
                self._end()
        except httpx.HTTPError as error:
            self._error = error

    def _take(self, data: bytes, at: float) -> None:
        reader, stamps = self._reader, self._stamps
        pieces: list[bytes] = []
        stamps.arrived_at = at
        try:
            reader.feed(data, pieces)
        finally:
            for piece in pieces:
                self._ready.append(Stamped(piece, at))
        if stamps.headers_at is None and reader.head is not None:
            stamps.headers_at = at
        if reader.done:
            stamps.ended_at = stamps.ended_at or at

    def _end(self) -> None:
        if self._connection.error is not None:
            raise httpx.ReadError(str(self._connection.error))
        self._reader.end()
        self._stamps.ended_at = self._connection.ended_at


def _origin(url: httpx.URL) -> _Origin:
    if url.scheme not in _PORTS or not url.raw_host:
        raise httpx.UnsupportedProtocol("found an address without http(s)://HOST")
    return _Origin(url.scheme, url.raw_host.decode("ascii"), url.port or _PORTS[url.scheme])


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
