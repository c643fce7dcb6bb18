"""What all tests share: the reference data, and a server on loopback that sends exactly the bytes it is told to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import urllib.parse
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from hypothesis import settings

ROOT = Path(__file__).parent.parent

settings.register_profile("test", deadline=None)  # a busy machine is no fault of the code
settings.register_profile("golden", deadline=None, max_examples=2_000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of public reference data beside the checkout; a must in CI, elsewhere a reason to skip."""
    place = Path(os.environ.get("EVALKIT_SHARED", ROOT.parent / "shared"))
    if place.is_dir():
        return place
    if os.environ.get("CI"):
        pytest.fail(f"the reference data is missing: wanted a folder {place}")
    pytest.skip("the public reference data is not beside this checkout")


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


class Client:
    """The other side of the connection that a request came over."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self.open = True

    async def send(self, *parts: bytes) -> None:
        """All parts in one write."""
        self._writer.write(b"".join(parts))
        await self._writer.drain()

    def reset(self) -> None:
        """Break the connection."""
        self.open = False
        self._writer.transport.abort()

    def close(self) -> None:
        """Close it in good order, after what was sent."""
        self.open = False


Answer = Callable[[Request, Client], Awaitable[None]]


class Loopback:
    """A server whose every answer is written by `answer`; `requests` are those that came."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[Request] = []
        self.connections = 0
        self.url = ""

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        self.connections += 1
        client = Client(writer)
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while client.open:
                    request = await self._read(reader)
                    self.requests.append(request)
                    await self._answer(request, client)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> Request:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        parts = urllib.parse.urlsplit(target)
        query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        return Request(method, parts.path, query, headers, body)

    @staticmethod
    def body(
        content: bytes,
        *,
        kind: str = "application/json",
        status: int = 200,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        """A whole response."""
        named = {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
        return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode("latin-1") + content

    @classmethod
    def json(cls, value: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> bytes:
        """A whole JSON response."""
        return cls.body(json.dumps(value, ensure_ascii=False).encode(), status=status, headers=headers)

    STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream;charset=UTF-8\r\nTransfer-Encoding: chunked\r\n\r\n"
    """The head of an event stream; `piece`s follow, then END."""

    END = b"0\r\n\r\n"

    @staticmethod
    def piece(content: bytes) -> bytes:
        """One piece of a chunked body."""
        return f"{len(content):x}\r\n".encode() + content + b"\r\n"

    @classmethod
    def event(cls, name: str, data: Any) -> bytes:
        """One event as a piece: data as JSON, as Spring writes it."""
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        return cls.piece(f"event:{name}\ndata:{text}\n\n".encode())


@pytest.fixture(scope="session")
def loopback() -> type[Loopback]:
    """The server class, opened with `async with` around a function that answers."""
    return Loopback
