"""The server as a process: it says where it listens, and ends on a signal, or with the one that started it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.hosting import serve
from evalkit.targets.demo.knowledge import DATA
from evalkit.targets.demo.settings import Limits, Pacing

__all__ = ["serve_forever"]

_WATCH_S = 0.5
_LINGER_S = 3.0


def serve_forever(  # noqa: PLR0913 - each is a switch of its own, given by name
    *,
    host: str = "127.0.0.1",
    port: int = 9090,
    faults: Faults | None = None,
    pacing: Pacing | None = None,
    limits: Limits | None = None,
    users: Mapping[str, str] | None = None,
    data: Path = DATA,
    parent_pid: int | None = None,
    say: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGINT or SIGTERM, and tell through `say` (standard output) where and how to ask.

    With `parent_pid` it is another program's server: it says one line of JSON (`base_url`, `username`,
    `password`), and ends when its standard input closes or that process is gone. UsageError when the port cannot
    be had.
    """
    tell = say or _print
    people = dict(users or {"admin": "admin"})
    user, password = next(iter(people.items()))

    async def run() -> None:
        stop = _stopper(parent_pid)
        server = serve(
            host=host,
            port=port,
            faults=faults,
            pacing=pacing,
            limits=limits,
            users=people,
            data=data,
            shared_books=parent_pid is None,
        )
        async with server as url:
            tell(_where(url, user, password) if parent_pid is None else _line(url, user, password))
            await stop.wait()
            if parent_pid is not None:
                _end_anyway()

    asyncio.run(run())


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _line(url: str, user: str, password: str) -> str:
    return json.dumps({"base_url": url, "username": user, "password": password})


def _where(url: str, user: str, password: str) -> str:
    login = json.dumps({"username": user, "password": password})
    return (
        f"demo shop at {url}\nuser {user}, password {password}\n\n"
        f"TOKEN=$(curl -s {url}/auth/login -H 'Content-Type: application/json' -d '{login}'"
        ' | sed \'s/.*"token":"\\([^"]*\\)".*/\\1/\')\n'
        f'curl -sN -G {url}/rag/v3/chat -H "Authorization: $TOKEN" --data-urlencode question=耳机拆封后还能退吗\n\n'
        "Ctrl-C ends it."
    )


def _stopper(parent_pid: int | None) -> asyncio.Event:
    """An event that is set on SIGINT and SIGTERM, and when the parent, if there is one, is gone."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end() -> None:
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: end())
    if parent_pid is not None:
        threading.Thread(target=_read_to_end, args=(end,), daemon=True).start()
        threading.Thread(target=_outlive, args=(parent_pid, stop, end), daemon=True).start()
    return stop


def _end_anyway() -> None:
    """However long the shutdown takes, nobody is waiting for it."""
    timer = threading.Timer(_LINGER_S, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _read_to_end(then: Callable[[], None]) -> None:
    """Wait for the end of standard input: the parent closed it, or is dead."""
    with contextlib.suppress(OSError, ValueError):
        while os.read(sys.stdin.fileno(), 4096):
            pass
    then()


def _outlive(parent_pid: int, stop: asyncio.Event, then: Callable[[], None]) -> None:
    """Notice that the parent is gone though somebody else still holds standard input open."""
    pause = threading.Event()
    while os.getppid() == parent_pid and not stop.is_set():
        pause.wait(_WATCH_S)
    then()
