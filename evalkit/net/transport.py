"""Bytes on the wire and when they moved: an httpx transport that stamps what passes through it.

Stamps are seconds of `time.perf_counter`. A request has left when its last byte was handed to the socket;
chunks that came with one read of the socket share that read's stamp. What httpx does before and after is
outside. A faster transport may stand in for this one as long as it fills the same `Stamps`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
import urllib.parse
import urllib.request
import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import httpx

import evalkit
from evalkit.errors import UsageError

__all__ = ["Stamped", "StampingTransport", "Stamps", "WireError", "chunks", "client"]

_CHATTY_LOGGERS = ("httpx", "httpcore")  # they write whole addresses, queries and all, at INFO
_SPARE_FILES = 32  # what a run holds open beside its connections
_MOMENTS = {
    "connection.connect_tcp.started": "connecting_at",
    "connection.connect_tcp.complete": "connected_at",
    "connection.start_tls.complete": "connected_at",
    "http11.send_request_headers.started": "sending_at",
    "http11.send_request_body.complete": "sent_at",
    "http11.receive_response_headers.complete": "headers_at",
}


class WireError(Exception):
    """A response that cannot be read on; `kind` is the stable name of the reason."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Stamped(NamedTuple):
    """A piece of a response body and when its bytes arrived."""

    data: bytes
    arrived_at: float


@dataclass(slots=True)
class Stamps:
    """When the parts of one request happened; None where they did not, or nobody could see them.

    A caller that wants them even if the request fails puts its own under the extension `stamps`.
    `arrived_at` is the arrival of the latest piece of the body, `ended_at` that of its end.
    """

    handed_at: float | None = None
    connecting_at: float | None = None
    connected_at: float | None = None
    sending_at: float | None = None
    sent_at: float | None = None
    headers_at: float | None = None
    arrived_at: float | None = None
    ended_at: float | None = None

    @property
    def reused(self) -> bool | None:
        """Whether an open connection was used again; None where no request was seen to leave."""
        return None if self.sending_at is None else self.connecting_at is None

    async def trace(self, moment: str, _info: Mapping[str, Any]) -> None:
        """Stamp a moment that the HTTP library reports."""
        if moment in _MOMENTS:
            setattr(self, _MOMENTS[moment], time.perf_counter())


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
        async for data in self._inner:
            self._stamp()
            yield data
        self._stamp()
        self._stamps.ended_at = self._stamps.arrived_at

    def _stamp(self) -> None:
        if self._turn.over:
            self._stamps.arrived_at = time.perf_counter()
            self._turn = _Turn()

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
        return httpx.Response(
            response.status_code,
            headers=response.headers,
            stream=_StampedStream(response.stream, stamps),
            extensions={**response.extensions, "stamps": stamps},
        )

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


async def chunks(response: httpx.Response, *, max_bytes: int = 16 << 20) -> AsyncIterator[Stamped]:
    """The body of a stamped response, piece by piece; raises WireError beyond `max_bytes` decoded bytes.

    We ask for the identity encoding; what comes compressed all the same is inflated no further than the cap.
    """
    stamps: Stamps = response.extensions["stamps"]
    inflated = _Inflated(response.headers.get("content-encoding", "identity"))
    left = max_bytes
    async for raw in response.aiter_raw():
        data = inflated.feed(raw, left + 1)
        yield Stamped(data[:left], stamps.arrived_at or time.perf_counter())
        left -= len(data)
        if left < 0:
            raise WireError(
                "too_large", f"the response has more than {max_bytes} bytes; the rest was not read."
            )
    inflated.end()


class _Inflated:
    """The bytes that an encoded body stands for, never more at once than asked for."""

    def __init__(self, encoding: str) -> None:
        self._zlib = None
        if encoding.lower() in {"gzip", "x-gzip", "deflate"}:
            self._zlib = zlib.decompressobj(wbits=47)
        elif encoding.lower() not in {"", "identity"}:
            raise WireError(
                "bad_encoding", f"found content-encoding {encoding!r}, wanted identity as asked for."
            )

    def feed(self, raw: bytes, most: int) -> bytes:
        if self._zlib is None:
            return raw
        try:
            data = self._zlib.decompress(raw, most)
        except zlib.error as error:
            raise WireError("bad_encoding", f"the compressed body is broken: {error}.") from error
        if self._zlib.unused_data:
            raise WireError("bad_encoding", "bytes follow the end of the compressed body.")
        return data

    def end(self) -> None:
        if self._zlib is not None and not self._zlib.eof:
            raise WireError("incomplete_read", "the compressed body ended before its end.")


def client(
    *,
    base_url: str,
    concurrency: int = 8,
    use_env_proxy: bool = False,
    transport: httpx.AsyncBaseTransport | None = None,
) -> httpx.AsyncClient:
    """An HTTP client for measuring: stamps, no redirects, no proxy from the environment unless asked for.

    It never waits for a free connection and has no timeouts of its own: the caller bounds how many requests
    run at once, and how long. `transport` stands in for the network. Raises UsageError where the process may
    not open as many files as `concurrency` can need.
    """
    _hush()
    _ensure_files(2 * concurrency + _SPARE_FILES)
    inner = transport or httpx.AsyncHTTPTransport(
        # A limit on connections would make a healthy run wait inside the library, and a cancelled request
        # can take its slot with it for good.
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=2 * concurrency),
        proxy=_proxy(base_url) if use_env_proxy else None,
        trust_env=use_env_proxy,
    )
    return httpx.AsyncClient(
        base_url=base_url,
        transport=StampingTransport(inner),
        timeout=None,  # noqa: S113 - deadlines are set around the whole exchange, by wall clock
        follow_redirects=False,
        trust_env=False,
        headers={"Accept-Encoding": "identity", "User-Agent": f"evalkit/{evalkit.__version__}"},
    )


def _hush() -> None:
    for name in _CHATTY_LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))


def _proxy(base_url: str) -> str | None:
    """The proxy that the environment names for this address."""
    parts = urllib.parse.urlsplit(base_url)
    if urllib.request.proxy_bypass(parts.hostname or ""):
        return None
    known = urllib.request.getproxies()
    return known.get(parts.scheme) or known.get("all")


def _ensure_files(wanted: int) -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on every system

    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit not in (resource.RLIM_INFINITY, -1) and wanted > limit:
        raise UsageError(
            f"the run may need {wanted} open files, and this process may open {limit}: "
            "lower --concurrency, or raise the limit with `ulimit -n`."
        )
