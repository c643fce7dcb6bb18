"""The transport of our own: connections kept and dropped, cancellations, slow readers and writers, TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from evalkit.net.direct import DirectTransport
from evalkit.net.exchange import Exchange, fetch
from evalkit.net.stamps import Stamps
from evalkit.net.transport import chunks, client

Loopback = Any  # the class behind the fixture of that name
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextlib.asynccontextmanager
async def serving(answer: Any, host: str = "127.0.0.1", **tls: Any) -> AsyncIterator[int]:
    """The port of a server that answers as `answer(reader, writer)` does, and ends its connections."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
                await answer(reader, writer)
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(connected, host, 0, **tls) as server:
        yield server.sockets[0].getsockname()[1]
        await asyncio.sleep(0.05)


def open_client(url: str, **tls: Any) -> tuple[httpx.AsyncClient, DirectTransport]:
    transport = DirectTransport(max_resting=4, tls=partial(ssl.create_default_context, **tls))
    return httpx.AsyncClient(base_url=url, transport=transport, timeout=None, trust_env=False), transport  # noqa: S113


async def got(http: httpx.AsyncClient, path: str = "/") -> bytes:
    response = await http.send(http.build_request("GET", path), stream=True)
    try:
        return b"".join([piece.data async for piece in chunks(response)])
    finally:
        await response.aclose()


async def ok(_request: Any, peer: Any) -> None:
    await peer.send(OK)


async def ok_and_close(_request: Any, peer: Any) -> None:
    await peer.send(OK)
    peer.close()


async def ok_and_more(_request: Any, peer: Any) -> None:
    await peer.send(OK)
    await asyncio.sleep(0.02)
    await peer.send(OK)


async def says_close(_request: Any, peer: Any) -> None:
    await peer.send(OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))


@pytest.mark.parametrize(
    ("answer", "connections"), [(ok, 1), (ok_and_close, 3), (ok_and_more, 3), (says_close, 3)]
)
def test_a_connection_is_used_again_only_where_nothing_came_meanwhile(
    answer: Any, connections: int, loopback: Loopback
) -> None:
    """Three requests one after the other: each arrives once, whatever became of the connection before it."""

    async def main() -> tuple[list[bytes], int, int]:
        async with loopback(answer) as server:
            http, _ = open_client(server.url)
            async with http:
                bodies = []
                for _ in range(3):
                    bodies.append(await got(http))
                    await asyncio.sleep(0.05)
                return bodies, len(server.requests), server.connections

    assert asyncio.run(main()) == ([b"ok"] * 3, 3, connections)


def test_an_end_that_the_loop_has_not_heard_of_yet_is_seen(loopback: Loopback) -> None:
    """The server's end stands in the kernel, and no turn of the loop has read it."""

    async def main() -> tuple[bytes, int]:
        async with loopback(ok_and_close) as server:
            http, transport = open_client(server.url)
            async with http:
                await got(http)
                (resting,) = [each for found in transport._resting.values() for each in found]
                resting._transport.pause_reading()
                await asyncio.sleep(0.05)
                return await got(http), len(server.requests)

    assert asyncio.run(main()) == (b"ok", 2)


def test_no_more_connections_rest_than_there_is_room_for(loopback: Loopback) -> None:
    async def slow(request: Any, peer: Any) -> None:
        await asyncio.sleep(0.05)
        await ok(request, peer)

    async def main() -> tuple[int, int]:
        async with loopback(slow) as server:
            http, transport = open_client(server.url)
            async with http:
                await asyncio.gather(*(got(http) for _ in range(10)))
                resting = sum(map(len, transport._resting.values()))
                return server.connections, resting

    assert asyncio.run(main()) == (10, 4)


async def stormed(http: httpx.AsyncClient, *, turns: int, pause_s: float) -> None:
    """Ten requests, cancelled after so many turns of the loop and so long; every other one twice."""
    tasks = [asyncio.create_task(got(http)) for _ in range(10)]
    for _ in range(turns):
        await asyncio.sleep(0)
    await asyncio.sleep(pause_s)
    for task in [*tasks, *tasks[::2]]:
        task.cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)


def test_a_storm_of_cancellations_leaves_nothing_behind(loopback: Loopback) -> None:
    """A thousand requests, cancelled at every moment: no connection is held, and the next request is served."""

    async def drip(request: Any, peer: Any) -> None:
        if request.path == "/ok":
            return await ok(request, peer)
        await peer.send(loopback.STREAM)
        while True:
            await peer.send(loopback.piece(b": p\n"))
            await asyncio.sleep(0.001)

    async def main() -> tuple[bytes, int]:
        async with loopback(drip) as server:
            http, transport = open_client(server.url)
            async with http:
                for number in range(100):
                    await stormed(http, turns=number % 7, pause_s=0.0005 * (number % 5))
                return await got(http, "/ok"), len(transport._busy)

    assert asyncio.run(main()) == (b"ok", 0)


def test_a_reader_that_is_slow_holds_little_and_loses_nothing(loopback: Loopback) -> None:
    size = 8 << 20

    async def flood(_request: Any, peer: Any) -> None:
        await peer.send(loopback.body(b"x" * size))

    async def main() -> tuple[int, int]:
        async with loopback(flood) as server:
            http, transport = open_client(server.url)
            async with http:
                response = await http.send(http.build_request("GET", "/"), stream=True)
                await asyncio.sleep(0.3)
                (connection,) = transport._busy
                held = connection._held
                read = sum([len(piece.data) async for piece in chunks(response)])
                await response.aclose()
                return held, read

    held, read = asyncio.run(main())
    assert read == size
    assert held <= (1 << 18) + (1 << 16)


def test_a_request_has_left_when_its_last_byte_was_taken_by_the_socket() -> None:
    """16 MB to a server that reads nothing for 0.2 s: more than all buffers between hold."""

    async def main() -> Stamps:
        async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(0.2)
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(16 << 20)
            writer.write(OK)
            await reader.read()

        stamps = Stamps()
        async with serving(late) as port, open_client(f"http://127.0.0.1:{port}")[0] as http:
            request = http.build_request(
                "POST", "/", content=b"x" * (16 << 20), extensions={"stamps": stamps}
            )
            assert (await http.send(request)).content == b"ok"
        return stamps

    stamps = asyncio.run(main())
    assert stamps.sending_at
    assert stamps.sent_at
    assert stamps.headers_at
    assert stamps.sent_at - stamps.sending_at > 0.15
    assert stamps.sent_at <= stamps.headers_at


def test_a_server_that_answers_before_it_has_read_all_is_heard() -> None:
    async def main() -> tuple[int, int]:
        async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(OK.replace(b"200 OK", b"413 Too Large"))
            await asyncio.sleep(0.2)

        async with serving(refuse) as port:
            http, transport = open_client(f"http://127.0.0.1:{port}")
            response = await http.post("/", content=b"x" * (32 << 20))
            await http.aclose()
            return response.status_code, sum(map(len, transport._resting.values()))

    assert asyncio.run(main()) == (413, 0)


def test_an_address_of_version_6() -> None:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")

    async def main() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            assert b"\r\nHost: [::1]:" in await reader.readuntil(b"\r\n\r\n")
            writer.write(OK)
            await reader.read()

        async with serving(answer, "::1") as port, open_client(f"http://[::1]:{port}")[0] as http:
            return await got(http)

    assert asyncio.run(main()) == b"ok"


def test_a_name_is_tried_at_all_its_addresses(loopback: Loopback) -> None:
    """A name such as localhost may stand for ::1 first, where this server does not listen."""

    async def main() -> bytes:
        async with loopback(ok) as server:
            http, _ = open_client(server.url.replace("127.0.0.1", "localhost"))
            async with http:
                return await got(http)

    assert asyncio.run(main()) == b"ok"


def fetched(url: str) -> Exchange:
    async def main() -> Exchange:
        async with client(base_url=url) as http:
            return await fetch(http, http.build_request("GET", "/"), total_deadline_s=20)

    return asyncio.run(main())


@pytest.mark.parametrize(
    "url",
    ["http://退货.invalid", "http://" + "a" * 64 + ".invalid", "http://a..invalid"],
    ids=["unicode", "a long label", "an empty label"],
)
def test_a_host_that_is_nowhere_is_a_connect_error(url: str) -> None:
    error = fetched(url).error
    assert error
    assert error.kind == "connect"


def test_an_address_of_another_scheme_is_a_bad_request() -> None:
    error = fetched("ftp://127.0.0.1").error
    assert error
    assert error.kind == "bad_request"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 with its key, signed by itself."""
    made = tmp_path_factory.mktemp("tls") / "both.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=loopback"
    name = "subjectAltName=IP:127.0.0.1"
    try:
        done = subprocess.run(
            [*words.split(), "-addext", name, "-keyout", "-", "-out", "-"], capture_output=True, check=True
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    made.write_bytes(done.stdout)
    return made


async def secured(certificate: Path, ask: Any) -> Any:
    """What `ask` gives for the address of a server with that certificate."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(50):
                writer.write(b"%x\r\n%b\r\n" % (20_000, b"x" * 20_000))
                await writer.drain()
            writer.write(b"0\r\n\r\n")

    async with serving(answer, ssl=context) as port:
        return await ask(f"https://127.0.0.1:{port}")


def test_a_stream_over_tls_comes_whole_and_its_connection_serves_again(certificate: Path) -> None:
    async def ask(url: str) -> tuple[int, int, bool | None]:
        http, _ = open_client(url, cafile=str(certificate))
        stamps = Stamps()
        async with http:
            first = len(await got(http))
            second = await http.get("/", extensions={"stamps": stamps})
            return first, len(second.content), stamps.reused

    assert asyncio.run(secured(certificate, ask)) == (1_000_000, 1_000_000, True)


def test_a_certificate_that_nobody_vouches_for_is_a_connect_error(certificate: Path) -> None:
    async def ask(url: str) -> Exchange:
        async with client(base_url=url) as http:
            return await fetch(http, http.build_request("GET", "/"), total_deadline_s=20)

    error = asyncio.run(secured(certificate, ask)).error
    assert error.kind == "connect"
    assert "certificate verify failed" in error.message
