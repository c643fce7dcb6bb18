"""One exchange: deadlines by wall clock, every way it can break, and what is kept when it does."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from evalkit.net.exchange import Exchange, fetch, stream, timings
from evalkit.net.transport import client

Loopback = Any  # the class behind the fixture of that name
Answer = Callable[[Any, Any], Awaitable[None]]


def ask(loopback: Loopback, answer: Answer, *, first_s: float = 5, total_s: float = 5) -> Exchange:
    async def main() -> Exchange:
        async with loopback(answer) as server, client(base_url=server.url) as http:
            request = http.build_request("GET", "/")
            return await stream(http, request, first_event_deadline_s=first_s, total_deadline_s=total_s)

    return asyncio.run(main())


def call(loopback: Loopback, response: bytes) -> Exchange:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(response)

    async def main() -> Exchange:
        async with loopback(answer) as server, client(base_url=server.url) as http:
            return await fetch(http, http.build_request("GET", "/"), total_deadline_s=5)

    return asyncio.run(main())


def kind(seen: Exchange) -> str | None:
    return seen.error and seen.error.kind


def data(seen: Exchange) -> list[str]:
    return [arrival.event.data for arrival in seen.events]


def test_a_stream_is_read_past_its_closing_event(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, loopback.event("done", "[DONE]"))
        await peer.send(loopback.event("evidence", "late"), loopback.END)

    seen = ask(loopback, answer)
    assert seen.error is None
    assert data(seen) == ["[DONE]", "late"]


def test_events_are_stamped_by_the_read_that_completed_them(loopback: Loopback) -> None:
    """The moments between which they came are the server's own, from the same loop: a busy machine delays both."""
    sent = list[float]()

    async def answer(_request: Any, peer: Any) -> None:
        for pieces in (
            (loopback.STREAM, loopback.piece(b": hello\n\ndata:a\n\ndata:")),
            (loopback.piece(b"b\n"),),
            (loopback.piece(b"\n"),),
            (loopback.END,),
        ):
            sent.append(time.perf_counter())
            await peer.send(*pieces)
            await asyncio.sleep(0.1)

    seen = ask(loopback, answer)
    a, b = (arrival.arrived_at for arrival in seen.events)
    assert sent[0] < a < sent[1]
    assert sent[2] < b < sent[3]
    told = timings(seen, texts_at=[b])
    assert told.first_event_ms == told.first_byte_ms == pytest.approx((a - seen.began_at) * 1000, abs=0.01)
    assert told.first_text_ms == told.last_text_ms == pytest.approx((b - seen.began_at) * 1000, abs=0.01)
    assert (told.end_ms or 0) > (sent[3] - seen.began_at) * 1000
    assert (told.events, told.text_chunks, told.first_reasoning_ms) == (2, 1, None)


def test_comments_are_no_event_but_their_bytes_are_the_first(loopback: Loopback) -> None:
    sent = list[float]()

    async def answer(_request: Any, peer: Any) -> None:
        sent.append(time.perf_counter())
        await peer.send(loopback.STREAM, loopback.piece(b": ping\n\n"))
        await asyncio.sleep(0.1)
        sent.append(time.perf_counter())
        await peer.send(loopback.event("message", "a"), loopback.END)

    seen = ask(loopback, answer)
    told = timings(seen, texts_at=[])
    comment, event = (seen.began_at + (ms or 0) / 1000 for ms in (told.first_byte_ms, told.first_event_ms))
    assert sent[0] < comment < sent[1] < event
    assert (told.first_text_ms, told.last_text_ms, told.text_chunks) == (None, None, 0)


async def drip(_request: Any, peer: Any) -> None:
    """A server that keeps the connection alive and never says anything."""
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata:a\n\n")
    while True:
        await peer.send(b": p\n\n")
        await asyncio.sleep(0.02)


def test_a_dripping_server_is_left_at_the_total_deadline(loopback: Loopback) -> None:
    started = time.monotonic()
    seen = ask(loopback, drip, total_s=0.5)
    assert 0.45 < time.monotonic() - started < 10
    assert (timings(seen).end_ms or 0) > 450
    assert (kind(seen), data(seen)) == ("deadline.total", ["a"])


def test_a_first_event_ends_the_first_deadline(loopback: Loopback) -> None:
    assert kind(ask(loopback, drip, first_s=0.2, total_s=0.6)) == "deadline.total"


@pytest.mark.parametrize(
    "headers", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: p\n\n"]
)
def test_no_event_in_time_is_the_first_deadline(headers: bytes, loopback: Loopback) -> None:
    """Whether nothing comes at all, or headers and comments only."""

    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(headers)
        await asyncio.sleep(60)

    seen = ask(loopback, answer, first_s=0.2)
    assert kind(seen) == "deadline.first_event"
    assert 150 < (timings(seen).end_ms or 0) < 10_000


def test_a_reset_connection_keeps_what_had_come(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, *(loopback.event("message", text) for text in "abc"))
        await peer.send(loopback.piece(b"data:ta"))
        await asyncio.sleep(0.05)
        peer.reset()

    seen = ask(loopback, answer)
    assert (kind(seen), data(seen), seen.tail) == ("incomplete_read", ["a", "b", "c"], b"data:ta")


def test_a_chunked_body_without_its_end_is_incomplete(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, loopback.event("message", "a"))
        peer.close()

    seen = ask(loopback, answer)
    assert (kind(seen), data(seen)) == ("incomplete_read", ["a"])


def test_a_body_that_ends_with_its_connection_is_no_error_and_its_tail_is_kept(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata:a\n\ndata:ta")
        peer.close()

    seen = ask(loopback, answer)
    assert (kind(seen), data(seen), seen.tail) == (None, ["a"], b"data:ta")


def test_a_connection_that_ends_before_the_response_is_told_apart(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        peer.close()

    assert kind(ask(loopback, answer)) == "disconnected"


def test_nobody_listening_is_a_connect_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    async def main() -> Exchange:
        async with client(base_url=f"http://127.0.0.1:{port}") as http:
            return await fetch(http, http.build_request("GET", "/"), total_deadline_s=5)

    seen = asyncio.run(main())
    assert (kind(seen), seen.http_status) == ("connect", None)
    assert timings(seen).headers_ms is None


def test_an_endless_event_is_too_large_and_keeps_the_events_before_it(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata:a\n\ndata:")
        for _ in range(40):
            await peer.send(b"x" * 65536)

    seen = ask(loopback, answer)
    assert (kind(seen), data(seen)) == ("too_large", ["a"])
    assert len(seen.tail) <= (1 << 20) + 65536


LOGIN_PAGE = "<html>请登录</html>" + " " * 5000


@pytest.mark.parametrize(
    ("kind_", "content", "status", "expected", "code"),
    [
        ("text/html; charset=utf-8", LOGIN_PAGE, 200, "bad_content_type", None),
        ("application/json", '{"code":"A000001","message":"未登录"}', 200, "envelope", "A000001"),
        ("application/json", '{"answer":"可以"}', 200, "bad_content_type", None),
        ("application/json", '{"code":"B000100","message":"超时"}', 500, "http_status", "B000100"),
        ("text/plain", "busy", 503, "http_status", None),
        ("text/plain", "", 404, "http_status", None),
    ],
)
def test_a_response_in_place_of_a_stream_is_an_error_that_keeps_its_body(
    kind_: str, content: str, status: int, expected: str, code: str | None, loopback: Loopback
) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.body(content.encode(), kind=kind_, status=status))

    error = ask(loopback, answer).error
    assert error
    assert (error.kind, error.http_status, error.code) == (expected, status, code)
    assert error.body == (content.encode()[:2048].decode() or None)


def test_a_redirect_names_where_it_points(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.body(b"", status=302, headers={"Location": "https://elsewhere.test/x"}))

    error = ask(loopback, answer).error
    assert error
    assert error.kind == "redirect"
    assert "https://elsewhere.test/x" in error.message


def test_json_is_read_as_utf_8_whatever_the_header_says(loopback: Loopback) -> None:
    body = '{"a":["退货","\\ud83d"]}'.encode()
    seen = call(loopback, loopback.body(body, kind="application/json; charset=gbk"))
    assert seen.reply == {"a": ["退货", "\\ud83d"]}
    assert timings(seen).events is None


@pytest.mark.parametrize("body", [b"{", b'{"a":NaN}', b'"\xff"', b"", b"[" * 100_000])
def test_a_body_that_is_no_json_is_an_error(body: bytes, loopback: Loopback) -> None:
    seen = call(loopback, loopback.body(body))
    assert kind(seen) == "bad_json"
    assert seen.reply is None


def test_a_cancelled_exchange_stays_cancelled(loopback: Loopback) -> None:
    """Whoever cancels from outside is not told of a deadline instead."""

    async def main() -> None:
        async with loopback(drip) as server, client(base_url=server.url) as http:
            request = http.build_request("GET", "/")
            task = asyncio.create_task(stream(http, request, first_event_deadline_s=5, total_deadline_s=5))
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
