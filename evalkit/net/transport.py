"""The client that everything is measured with, and a response's body, piece by piece with its arrivals.

Stamps are seconds of `time.perf_counter`. A request has left when its last byte was handed to the socket;
chunks that came with one read of the socket share that read's stamp. What httpx does before and after is
outside.
"""

from __future__ import annotations

import logging
import sys
import urllib.parse
import urllib.request
import zlib
from collections.abc import AsyncIterator
from functools import partial

import httpx

import evalkit
from evalkit.errors import UsageError
from evalkit.net.direct import DirectTransport
from evalkit.net.masking import KNOWN
from evalkit.net.stamps import Stamped, StampedBody, Stamps
from evalkit.net.wrapped import StampingTransport

__all__ = ["Stamped", "Stamps", "WireError", "chunks", "client"]

_CHATTY_LOGGERS = ("httpx", "httpcore")  # they write whole addresses, queries and all, at INFO
_SPARE_FILES = 32  # what a run holds open beside its connections


class WireError(Exception):
    """A response that cannot be read on; `kind` is the stable name of the reason."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


async def chunks(response: httpx.Response, *, max_bytes: int = 16 << 20) -> AsyncIterator[Stamped]:
    """The body of a stamped response, piece by piece; raises WireError beyond `max_bytes` decoded bytes.

    We ask for the identity encoding; what comes compressed all the same is inflated no further than the cap.
    """
    body: StampedBody = response.extensions["body"]
    inflated = _Inflated(response.headers.get("content-encoding", "identity"))
    left = max_bytes
    async for piece in body.stamped():
        data = inflated.feed(piece.data, left + 1)
        left -= len(data)
        yield (
            piece if data is piece.data and left >= 0 else Stamped(data[: left + len(data)], piece.arrived_at)
        )
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
    return httpx.AsyncClient(
        base_url=base_url,
        transport=StampingTransport(transport)
        if transport
        else _network(base_url, concurrency, use_env_proxy),
        timeout=None,  # noqa: S113 - deadlines are set around the whole exchange, by wall clock
        follow_redirects=False,
        trust_env=False,
        headers={"Accept-Encoding": "identity", "User-Agent": f"evalkit/{evalkit.__version__}"},
    )


def _network(base_url: str, concurrency: int, use_env: bool) -> httpx.AsyncBaseTransport:  # noqa: FBT001
    """Straight to the server, or by the library's own ways through the proxy that the environment names."""
    proxy = _proxy(base_url) if use_env else None
    if proxy is None:
        tls = partial(httpx.create_ssl_context, trust_env=use_env)
        return DirectTransport(max_resting=2 * concurrency, tls=tls)
    # A limit on connections would make a healthy run wait inside the library, and a cancelled request can
    # take its slot with it for good.
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=2 * concurrency)
    return StampingTransport(httpx.AsyncHTTPTransport(limits=limits, proxy=proxy, trust_env=use_env))


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
    proxy = known.get(parts.scheme) or known.get("all")
    _hide_login(proxy or "")
    return proxy


def _hide_login(proxy: str) -> None:
    """Black out who logs in at the proxy, as it stands in the address and as it is sent (RFC 7617)."""
    login, at, _ = urllib.parse.urlsplit(proxy).netloc.rpartition("@")
    if not at:
        return
    name, _, password = login.partition(":")
    for secret in (login, password or name):  # a name alone is a token
        KNOWN.add(secret)
        KNOWN.add(urllib.parse.unquote(secret))
    KNOWN.add(f"{urllib.parse.unquote(name)}:{urllib.parse.unquote(password)}")


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
