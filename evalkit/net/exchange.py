"""One request and all that came back, in time order: an event stream or one JSON body.

An exchange never raises for what the network or the target did: it says so in `error`, with a stable kind,
and keeps what had arrived. Deadlines are wall clock over the whole exchange, whatever trickles in meanwhile.

    kind                    the exchange ended because
    connect                 no connection could be made
    disconnected            the connection broke before the response began
    incomplete_read         the connection broke inside the response
    deadline.first_event    no event came in time
    deadline.total          the exchange was not over in time
    http_status             the status is neither 2xx nor 3xx
    redirect                the status is 3xx; redirects are not followed
    bad_content_type        the body is of another kind than was asked for
    envelope                the body is a JSON envelope with an error, or one in place of a stream
    bad_json                the body is not JSON
    bad_encoding            the body is compressed in a way that cannot be read
    too_large               the body, or one event of it, is beyond its cap
    bad_request             the request itself cannot be sent
"""

from __future__ import annotations

import asyncio
import contextlib
import urllib.parse
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import httpx

from evalkit.contracts import ChannelError, Timings
from evalkit.net.capture import chunks, ended, send
from evalkit.net.framing import EVENT_STREAM, FrameDecoder, Framing
from evalkit.net.refusal import Refused, expect, refused
from evalkit.net.sse import Event, EventTooLarge
from evalkit.net.transport import Stamped, Stamps, WireError
from evalkit.net.wire import decoded, storable

__all__ = ["ASKED_FOR", "Arrival", "Exchange", "fetch", "marked", "stream", "timings"]

ASKED_FOR = "X-Evalkit-Case"
"""The header that names the sample of a request: a process that dies while it asks asks again when resumed."""

_mark: ContextVar[str | None] = ContextVar("mark", default=None)


@contextlib.contextmanager
def marked(mark: str) -> Iterator[None]:
    """Name the sample, run/sample#repeat, in every request of this block; what no header can hold is escaped."""
    token = _mark.set(urllib.parse.quote(mark, safe="/#", errors="replace"))
    try:
        yield
    finally:
        _mark.reset(token)


class Arrival(NamedTuple):
    """An event and the arrival of the chunk that completed it, in seconds of the monotonic clock."""

    event: Event
    arrived_at: float


@dataclass(slots=True)
class Exchange:
    """What came back for one request: `events` of a stream, or the `reply` of a JSON call.

    `tail` is what was cut off at the end of a stream; `retry_after` is the header of that name. `bad_utf8` says
    that bytes of the stream were no UTF-8 and stand as U+FFFD.
    """

    stamps: Stamps = field(default_factory=Stamps)
    http_status: int | None = None
    retry_after: str | None = None
    events: list[Arrival] = field(default_factory=list)
    tail: bytes = b""
    bad_utf8: bool = False
    reply: Any = None
    error: ChannelError | None = None
    first_byte_at: float | None = None
    ended_at: float = 0.0

    @property
    def began_at(self) -> float:
        """When the request had left; if it never did, when it was handed over."""
        return self.stamps.sent_at or self.stamps.handed_at or self.ended_at


Read = Callable[[httpx.Response, Exchange, asyncio.Timeout], Awaitable[None]]


async def stream(
    client: httpx.AsyncClient,
    request: httpx.Request,
    *,
    first_event_deadline_s: float,
    total_deadline_s: float,
    framing: Framing = EVENT_STREAM,
) -> Exchange:
    """Read an event stream to its end, past any closing event."""
    read = partial(_read_events, framing=framing)
    return await _exchange(
        client, request, read=read, first_s=first_event_deadline_s, total_s=total_deadline_s
    )


async def fetch(client: httpx.AsyncClient, request: httpx.Request, *, total_deadline_s: float) -> Exchange:
    """Read one JSON body: `reply` is its value."""
    return await _exchange(client, request, read=_read_json, first_s=None, total_s=total_deadline_s)


async def _exchange(
    client: httpx.AsyncClient, request: httpx.Request, *, read: Read, first_s: float | None, total_s: float
) -> Exchange:
    seen = Exchange()
    request.extensions["stamps"] = seen.stamps
    if mark := _mark.get():
        request.headers[ASKED_FOR] = mark
    try:
        async with asyncio.timeout(total_s) as total, asyncio.timeout(first_s) as first:
            response = await send(client, request)
            await _receive(response, seen, lambda: read(response, seen, first))
    except TimeoutError:
        seen.error = _deadline("total", total_s) if total.expired() else _deadline("first_event", first_s)
    except WireError as error:
        seen.error = ChannelError(kind=error.kind, message=str(error), http_status=seen.http_status)
    except Refused as error:
        seen.error = error.error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        seen.error = _broken(error, seen)
    seen.ended_at = ended(request, seen.stamps)
    return seen


async def _receive(response: httpx.Response, seen: Exchange, read: Callable[[], Awaitable[None]]) -> None:
    try:
        seen.http_status = response.status_code
        seen.retry_after = response.headers.get("retry-after")
        await read()
    finally:
        await response.aclose()


def _deadline(which: str, seconds: float | None) -> ChannelError:
    wanted = "an event" if which == "first_event" else "the end of the response"
    return ChannelError(kind=f"deadline.{which}", message=f"wanted {wanted} within {seconds:g} s.")


def _broken(error: Exception, seen: Exchange) -> ChannelError:
    """Why there is no more of a response. Texts that may quote the request's headers are left out."""
    name = type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return ChannelError(kind="connect", message=f"{name}: {error}")
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return ChannelError(kind="bad_request", message=f"{name}: the request cannot be written on the wire.")
    kind = "disconnected" if seen.http_status is None else "incomplete_read"
    return ChannelError(kind=kind, message=f"{name}: {error}", http_status=seen.http_status)


async def _read_events(
    response: httpx.Response, seen: Exchange, first: asyncio.Timeout, *, framing: Framing
) -> None:
    await expect(response, *framing.content_types)
    decoder = framing.decoder()
    try:
        async for chunk in chunks(response):
            seen.first_byte_at = seen.first_byte_at or chunk.arrived_at
            _take(seen, decoder, chunk)
            if seen.events and first.when() is not None and not first.expired():
                first.reschedule(None)
    finally:
        seen.tail, seen.bad_utf8 = decoder.tail, decoder.bad_utf8


def _take(seen: Exchange, decoder: FrameDecoder, chunk: Stamped) -> None:
    try:
        events: Sequence[Event] = decoder.feed(chunk.data)
    except EventTooLarge as error:
        seen.events += [Arrival(event, chunk.arrived_at) for event in error.events]
        raise WireError("too_large", str(error)) from error
    seen.events += [Arrival(event, chunk.arrived_at) for event in events]


async def _read_json(response: httpx.Response, seen: Exchange, _first: asyncio.Timeout) -> None:
    await expect(response, "application/json")
    body = bytearray()
    async for data, arrived_at in chunks(response):
        seen.first_byte_at = seen.first_byte_at or arrived_at
        body += data
    try:
        seen.reply = storable(decoded(bytes(body)))
    except ValueError as error:
        raise refused(response, "bad_json", f"found {error}, wanted JSON.", body=bytes(body)) from error


def timings(
    seen: Exchange, *, texts_at: Sequence[float] | None = None, thoughts_at: Sequence[float] = ()
) -> Timings:
    """When things happened; `texts_at` are the arrivals of the non-empty answer texts of a stream, in order.

    A JSON call has none (null), and its counts of events and texts are null too, not zero.
    """
    stamps, began_at = seen.stamps, seen.began_at

    def ms(moment: float | None, since: float | None = began_at) -> float | None:
        return None if moment is None or since is None else round((moment - since) * 1000, 3)

    return Timings(
        queue_ms=ms(stamps.connecting_at or stamps.sending_at, stamps.handed_at),
        connect_ms=ms(stamps.connected_at, stamps.connecting_at),
        headers_ms=ms(stamps.headers_at),
        first_byte_ms=ms(seen.first_byte_at),
        first_event_ms=ms(seen.events[0].arrived_at if seen.events else None),
        first_reasoning_ms=ms(thoughts_at[0] if thoughts_at else None),
        first_text_ms=ms(texts_at[0] if texts_at else None),
        last_text_ms=ms(texts_at[-1] if texts_at else None),
        end_ms=ms(seen.ended_at),
        text_chunks=None if texts_at is None else len(texts_at),
        events=None if texts_at is None else len(seen.events),
        reused_connection=stamps.reused,
    )
