"""A server of event streams whose every event tells when it was sent: what a client's stamps are held against.

Run as a script with the milliseconds before the first event and between two, and their number, it prints its port
and serves until its standard input ends. The data of an event is `{"received_at": …, "sent_at": …, "text": …}` in
seconds of `time.perf_counter`, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Timed", "serve", "timed"]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_TOLD = '{"received_at": %.7f, "sent_at": %.7f, "text": "支持七天无理由退货"}'
_BACKLOG = 1024


class Timed(asyncio.Protocol):
    """One connection; its requests have no body and are not pipelined."""

    def __init__(self, first_ms: float, gap_ms: float, events: int) -> None:
        self._first_s, self._gap_s, self._events = first_ms / 1000, gap_ms / 1000, events
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop: somebody is there."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP is no datagram
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Called by the loop: a request, or a part of one."""
        now = time.perf_counter()
        self._head += data
        if self._head.endswith(b"\r\n\r\n"):
            path, self._head = self._head.split(b" ", 2)[1], b""
            self.answer(path, now)

    def answer(self, path: bytes, received_at: float) -> None:  # noqa: ARG002 - servers of more than this look at it
        """Begin the stream."""
        self.transport.write(_HEAD)
        loop = asyncio.get_running_loop()
        due = loop.time() + self._first_s
        loop.call_at(due, self._event, received_at, 1, due)

    def _event(self, received_at: float, number: int, due: float) -> None:
        if self.transport.is_closing():
            return
        data = b"data: %b\n\n" % (_TOLD % (received_at, time.perf_counter())).encode()
        last = b"0\r\n\r\n" if number == self._events else b""
        self.transport.write(b"%x\r\n%b\r\n%b" % (len(data), data, last))
        if not last:
            due += self._gap_s
            asyncio.get_running_loop().call_at(due, self._event, received_at, number + 1, due)


async def serve(kind: type[Timed], first_ms: float, gap_ms: float, events: int) -> None:
    """Print the port, and serve connections of that kind until standard input ends."""
    loop = asyncio.get_running_loop()
    made = await loop.create_server(lambda: kind(first_ms, gap_ms, events), "127.0.0.1", 0, backlog=_BACKLOG)
    print(made.sockets[0].getsockname()[1], flush=True)  # noqa: T201 - for the process that started this one
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def timed(first_ms: float, gap_ms: float, events: int, *, script: str = __file__) -> Iterator[str]:
    """The address of such a server in a process of its own, run by this script or by another one that serves more."""
    words = [sys.executable, script, str(first_ms), str(gap_ms), str(events)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdin  # noqa: S101 - both are pipes
        assert child.stdout  # noqa: S101
        try:
            yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
        finally:
            child.stdin.close()


if __name__ == "__main__":
    asyncio.run(serve(Timed, float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
