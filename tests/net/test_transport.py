"""The stamping transport: what is stamped when, what is refused, and what the client never does by itself."""

from __future__ import annotations

import asyncio
import gzip
import logging
import resource
import time
import tracemalloc
import zlib
from typing import Any

import httpx
import pytest

from evalkit.errors import UsageError
from evalkit.net.transport import Stamped, Stamps, WireError, chunks, client

Loopback = Any  # the class behind the fixture of that name
TOKEN = "canary-7731-canary"  # noqa: S105


async def get(
    http: httpx.AsyncClient, path: str = "/", headers: dict[str, str] | None = None
) -> tuple[Stamps, list[Stamped]]:
    stamps = Stamps()
    request = http.build_request("GET", path, headers=headers, extensions={"stamps": stamps})
    response = await http.send(request, stream=True)
    try:
        return stamps, [chunk async for chunk in chunks(response)]
    finally:
        await response.aclose()


def test_the_moments_of_a_request_come_in_their_order(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await asyncio.sleep(0.05)
        await peer.send(loopback.STREAM)
        await asyncio.sleep(0.05)
        await peer.send(loopback.piece(b"a"), loopback.END)

    async def main() -> tuple[Stamps, Stamps]:
        async with loopback(answer) as server, client(base_url=server.url) as http:
            return (await get(http))[0], (await get(http))[0]

    first, second = asyncio.run(main())
    order = [getattr(first, name) for name in Stamps.__dataclass_fields__]
    assert None not in order
    assert order == sorted(order)
    assert first.headers_at - first.sent_at > 0.04
    assert first.arrived_at - first.headers_at > 0.04
    assert (first.reused, second.reused) == (False, True)
    assert second.connecting_at is None


def test_pieces_of_one_read_share_its_stamp(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, loopback.piece(b"a"), loopback.piece(b"b"))
        await asyncio.sleep(0.05)
        await peer.send(loopback.piece(b"c"), loopback.piece(b"d"), loopback.END)

    async def main() -> tuple[Stamps, list[Stamped]]:
        async with loopback(answer) as server, client(base_url=server.url) as http:
            return await get(http)

    stamps, pieces = asyncio.run(main())
    assert [piece.data for piece in pieces] == [b"a", b"b", b"c", b"d"]
    a, b, c, d = (piece.arrived_at for piece in pieces)
    assert (a, b) == (stamps.headers_at, stamps.headers_at)
    assert c == d == stamps.ended_at
    assert c - a >= 0.04


def test_a_slow_reader_does_not_delay_the_stamps_of_pieces_already_read(loopback: Loopback) -> None:
    async def answer(_request: Any, peer: Any) -> None:
        await peer.send(loopback.STREAM, *(loopback.piece(b"x") for _ in range(3)), loopback.END)

    async def main() -> list[float]:
        async with loopback(answer) as server, client(base_url=server.url) as http:
            response = await http.send(http.build_request("GET", "/"), stream=True)
            arrivals = []
            async for piece in chunks(response):
                time.sleep(0.02)  # noqa: ASYNC251 - a busy client
                arrivals.append(piece.arrived_at)
            await response.aclose()
            return arrivals

    assert len(set(asyncio.run(main()))) == 1


def test_a_transport_that_reports_no_moments_is_stamped_from_outside() -> None:
    async def main() -> tuple[Stamps, list[Stamped]]:
        transport = httpx.MockTransport(lambda _: httpx.Response(200, content="退"))
        async with client(base_url="http://shop.test", transport=transport) as http:
            return await get(http)

    stamps, pieces = asyncio.run(main())
    assert b"".join(piece.data for piece in pieces) == "退".encode()
    assert stamps.handed_at <= stamps.headers_at
    assert (stamps.sent_at, stamps.reused) == (None, None)


def served(content: bytes, **headers: str) -> httpx.MockTransport:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    pieces = [content[at : at + 65536] for at in range(0, len(content), 65536)]

    async def body() -> Any:
        for piece in pieces:
            yield piece

    return httpx.MockTransport(lambda _: httpx.Response(200, content=body(), headers=named))


def fetched(transport: httpx.MockTransport) -> bytes:
    async def main() -> bytes:
        async with client(base_url="http://shop.test", transport=transport) as http:
            return b"".join(piece.data for piece in (await get(http))[1])

    return asyncio.run(main())


TEXT = "退货" * 5000


@pytest.mark.parametrize("encode", [gzip.compress, zlib.compress], ids=["gzip", "deflate"])
def test_a_body_that_comes_compressed_all_the_same_is_read(encode: Any) -> None:
    name = "gzip" if encode is gzip.compress else "deflate"
    assert fetched(served(encode(TEXT.encode()), content_encoding=name)).decode() == TEXT


@pytest.mark.parametrize(
    ("content", "encoding", "kind"),
    [
        (gzip.compress(b"x" * 5000)[:-9], "gzip", "incomplete_read"),
        (gzip.compress(b"x") + gzip.compress(b"y"), "gzip", "bad_encoding"),
        (b"plain", "gzip", "bad_encoding"),
        (b"plain", "br", "bad_encoding"),
        (b"x" * ((16 << 20) + 1), "identity", "too_large"),
    ],
    ids=["cut", "two members", "not gzip", "unknown", "17 MiB"],
)
def test_a_body_that_cannot_be_read_whole_is_an_error(content: bytes, encoding: str, kind: str) -> None:
    with pytest.raises(WireError) as caught:
        fetched(served(content, content_encoding=encoding))
    assert caught.value.kind == kind


def test_a_gzip_bomb_costs_no_more_than_the_cap() -> None:
    """200 MB in about 200 KB: inflated to 16 MiB and not a step further."""
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    assert len(bomb) < 300_000
    tracemalloc.start()
    try:
        with pytest.raises(WireError, match="more than 16777216 bytes") as caught:
            fetched(served(bomb, content_encoding="gzip"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.kind == "too_large"
    assert peak < 64 << 20


async def ok(_request: Any, peer: Any) -> None:
    await peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def test_the_client_asks_for_plain_bytes_and_says_who_it_is(loopback: Loopback) -> None:
    async def main() -> dict[str, str]:
        async with loopback(ok) as server, client(base_url=server.url) as http:
            await get(http)
            headers: dict[str, str] = server.requests[0].headers
            return headers

    headers = asyncio.run(main())
    assert headers["accept-encoding"] == "identity"
    assert headers["user-agent"].startswith("evalkit/")


def test_a_redirect_is_not_followed(loopback: Loopback) -> None:
    async def main() -> tuple[int, int]:
        async with loopback(ok) as elsewhere:

            async def away(_request: Any, peer: Any) -> None:
                await peer.send(loopback.body(b"", status=302, headers={"Location": elsewhere.url}))

            async with loopback(away) as server, client(base_url=server.url) as http:
                response = await http.get("/", headers={"Authorization": TOKEN})
                return response.status_code, len(elsewhere.requests)

    assert asyncio.run(main()) == (302, 0)


@pytest.mark.parametrize("wanted", [False, True])
def test_a_proxy_is_used_only_on_demand(
    wanted: bool,  # noqa: FBT001
    loopback: Loopback,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def main() -> tuple[int, int]:
        async with loopback(ok) as proxy, loopback(ok) as server:
            monkeypatch.setenv("http_proxy", proxy.url)
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            async with client(base_url=server.url, use_env_proxy=wanted) as http:
                await get(http)
            return len(proxy.requests), len(server.requests)

    assert asyncio.run(main()) == ((1, 0) if wanted else (0, 1))


def test_an_address_that_the_environment_excepts_is_asked_directly(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> int:
        async with loopback(ok) as server:
            monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
            monkeypatch.setenv("no_proxy", "127.0.0.1")
            async with client(base_url=server.url, use_env_proxy=True) as http:
                await get(http)
            return len(server.requests)

    assert asyncio.run(main()) == 1


def test_nothing_of_a_request_is_logged(loopback: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with loopback(ok) as server, client(base_url=server.url) as http:
            await get(http, f"/{TOKEN}?token={TOKEN}", {"Authorization": TOKEN})

    with caplog.at_level(logging.DEBUG):
        asyncio.run(main())
    assert "canary" not in caplog.text


def test_a_logger_that_is_already_quieter_stays_so() -> None:
    logging.getLogger("httpx").setLevel(logging.ERROR)
    try:
        client(base_url="http://shop.test")
        assert logging.getLogger("httpx").level == logging.ERROR
    finally:
        logging.getLogger("httpx").setLevel(logging.NOTSET)


def test_too_few_open_files_are_told_before_the_first_request() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        with pytest.raises(UsageError, match=r"432 open files.*may open 64.*--concurrency"):
            client(base_url="http://shop.test", concurrency=200)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_requests_never_wait_inside_the_client_for_a_connection(loopback: Loopback) -> None:
    """40 requests of 0.2 s through a client sized for 2: each takes its own time, none that of another."""

    async def slow(request: Any, peer: Any) -> None:
        await asyncio.sleep(0.2)
        await ok(request, peer)

    async def main() -> list[float]:
        async with loopback(slow) as server, client(base_url=server.url, concurrency=2) as http:
            done = await asyncio.gather(*(get(http) for _ in range(40)))
            return [(stamps.connecting_at or stamps.sending_at) - stamps.handed_at for stamps, _ in done]

    assert max(asyncio.run(main())) < 0.15


async def cancelled(http: httpx.AsyncClient, *, after_s: float) -> None:
    """Three requests, cancelled after so long; two of them a second time while they clean up."""
    tasks = [asyncio.create_task(get(http)) for _ in range(3)]
    await asyncio.sleep(after_s)
    for task in tasks:
        task.cancel()
    await asyncio.sleep(0)
    for task in tasks[:2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_cancelled_requests_do_not_spoil_the_next_one(loopback: Loopback) -> None:
    """Cancelled once or twice, at any moment of connecting and reading; then a healthy request is served."""

    async def drip(request: Any, peer: Any) -> None:
        if request.path == "/ok":
            return await ok(request, peer)
        await peer.send(loopback.STREAM)
        while True:
            await peer.send(loopback.piece(b": p\n"))
            await asyncio.sleep(0.005)

    async def main() -> float:
        async with loopback(drip) as server, client(base_url=server.url, concurrency=2) as http:
            for round_ in range(60):
                await cancelled(http, after_s=0.0005 * (round_ % 12))
            started = time.monotonic()
            assert (await get(http, "/ok"))[1][0].data == b"ok"
            return time.monotonic() - started

    assert asyncio.run(main()) < 1
