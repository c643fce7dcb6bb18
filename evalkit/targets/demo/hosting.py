"""The server on a socket of its own, inside a running event loop, until the block that asked for it ends."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp

from evalkit.errors import EvalkitError, UsageError
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.knowledge import DATA
from evalkit.targets.demo.server import BASE_PATH, application
from evalkit.targets.demo.settings import Limits, Pacing, Settings

__all__ = ["serve"]

_POLL_S = 0.005


@asynccontextmanager
async def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    faults: Faults | None = None,
    pacing: Pacing | None = None,
    limits: Limits | None = None,
    users: Mapping[str, str] | None = None,
    data: Path = DATA,
    shared_books: bool = False,
) -> AsyncIterator[str]:
    """The base URL of a server that answers, in this event loop, until the block ends.

    `port` 0 takes a free one. `users` are names to passwords (admin/admin where there are none), `data` is the
    shop's folder. Signal handlers and log handlers of the process stay as they are. UsageError when the port
    cannot be had.
    """
    settings = Settings(
        faults=faults or Faults(),
        pacing=pacing or Pacing(),
        limits=limits or Limits(),
        users=users or {"admin": "admin"},
        data=data,
        shared_books=shared_books,
    )
    listener = _listener(host, port)
    server = _Server(_config(application(settings)))
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await _started(server, running)
        yield f"http://{_authority(host)}:{listener.getsockname()[1]}{BASE_PATH}"
    finally:
        server.should_exit = True
        await running


class _Server(uvicorn.Server):
    """A server that leaves the process's signals alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _config(app: ASGIApp) -> uvicorn.Config:
    """No log of its own: a stream that breaks off is part of the show. What truly fails, the server logs itself."""
    return uvicorn.Config(
        app,
        log_config=None,
        log_level=logging.CRITICAL,
        access_log=False,
        server_header=False,
        http="h11",
        ws="none",
        lifespan="off",
        timeout_graceful_shutdown=1,
    )


def _listener(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        reason = f"cannot listen on {host}:{port} ({error.strerror}); free it or take another port."
        raise UsageError(f"demo server: {reason}") from None
    return listener


async def _started(server: uvicorn.Server, running: asyncio.Task[None]) -> None:
    while not server.started:
        if running.done():
            await running
            raise EvalkitError("demo server: it ended before it began to listen.")
        await asyncio.sleep(_POLL_S)


def _authority(host: str) -> str:
    return f"[{host}]" if ":" in host else host
