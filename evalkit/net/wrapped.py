"""Any httpx transport, stamped from outside: for proxies, which ours does not speak to, and for stand-ins.

Chunks that came with one read of the socket share that read's stamp. The stamps are taken where the library's
own work is done, so they are later than those of `evalkit.net.direct`, the more so the busier the process is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

import httpx

from evalkit.net.stamps import Stamped, Stamps

__all__ = ["StampingTransport"]


class _Turn:
    """Whether the event loop has turned since this was made: a read of the socket always lets it turn."""

    def __init__(self) -> None:
        self.over = False
        asyncio.get_running_loop().call_soon(self._end)

    def _end(self) -> None:
        self.over = True


class _StampedStream(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, stamps: Stamps) -> None:
        self._inner = inner
        self._stamps = stamps
        self._turn = _Turn()
        stamps.arrived_at = stamps.headers_at

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self.stamped():
            yield piece.data

    async def stamped(self) -> AsyncIterator[Stamped]:
        async for data in self._inner:
            yield Stamped(data, self._stamp())
        self._stamps.ended_at = self._stamp()

    def _stamp(self) -> float:
        if self._turn.over or self._stamps.arrived_at is None:
            self._stamps.arrived_at = time.perf_counter()
            self._turn = _Turn()
        return self._stamps.arrived_at

    async def aclose(self) -> None:
        await self._inner.aclose()


class StampingTransport(httpx.AsyncBaseTransport):
    """The transport `inner`, with stamps: the response has them as extension `stamps`."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The response of the inner transport, its body stamped as it arrives."""
        stamps: Stamps = request.extensions.setdefault("stamps", Stamps())
        request.extensions["trace"] = stamps.trace
        stamps.handed_at = time.perf_counter()
        response = await self._inner.handle_async_request(request)
        stamps.headers_at = stamps.headers_at or time.perf_counter()
        if not isinstance(response.stream, httpx.AsyncByteStream):
            raise TypeError("the inner transport gave a body that cannot be read asynchronously")
        body = _StampedStream(response.stream, stamps)
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=body,
            extensions={**response.extensions, "stamps": stamps, "body": body},
        )

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()
