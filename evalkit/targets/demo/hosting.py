"""The server on a socket: inside a running event loop, or as a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import uvicorn

from evalkit.errors import UsageError
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.knowledge import DATA
from evalkit.targets.demo.server import BASE_PATH, application
from evalkit.targets.demo.settings import Limits, Pacing, Settings

__all__ = ["host_settings", "serve"]

_USERS = {"admin": "admin"}


@asynccontextmanager
async def serve(  # noqa: PLR0913 - each is a switch of its own, given by name
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
    """The base URL of a server that runs in this event loop until the block ends.

    `port` 0 takes a free one. `users` are names to passwords (admin/admin), `data` is the shop's folder.
    UsageError when the port cannot be had.
    """
    settings = Settings(
        faults=faults or Faults(),
        pacing=pacing or Pacing(),
        limits=limits or Limits(),
        users=users or _USERS,
        data=data,
        shared_books=shared_books,
    )
    async with hosted(settings, host=host, port=port) as url:
        yield url
