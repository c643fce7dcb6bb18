"""A server to ask: an answer stream and an evidence endpoint, every event with the server's own stamps.

    python benchmarks/replica.py [first_ms gap_ms events]

It prints its port and serves until its standard input ends. `GET /answer` is a stream of server-sent events;
the data of each is `{"received_at": …, "sent_at": …, "text": …}` in seconds of the monotonic clock, which all
processes of one machine share. `GET /evidence` is a JSON body.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
EVIDENCE = b'{"documents": ["POLICY_RETURN_001", "POLICY_PRICE_002"], "intent": "S14"}'
EVIDENCE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


class Replica(asyncio.Protocol):
    """One connection; requests have no body and are not pipelined."""

    first_s, gap_s, events = 0.2, 0.05, 30

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport
        self.head = b""

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self.head += data
        if self.head.endswith(b"\r\n\r\n"):
            path, self.head = self.head.split(b" ", 2)[1], b""
            self.answer(now) if path.startswith(b"/answer") else self.evidence()

    def evidence(self) -> None:
        self.transport.write(EVIDENCE_HEAD % len(EVIDENCE) + EVIDENCE)

    def answer(self, received_at: float) -> None:
        self.transport.write(HEAD)
        loop = asyncio.get_running_loop()
        loop.call_at(loop.time() + self.first_s, self.event, received_at, 1, loop.time() + self.first_s)

    def event(self, received_at: float, number: int, due: float) -> None:
        if self.transport.is_closing():
            return
        told = '{"received_at": %.7f, "sent_at": %.7f, "text": "支持七天无理由退货"}'
        data = b"data: %b\n\n" % (told % (received_at, time.perf_counter())).encode()
        last = b"0\r\n\r\n" if number == self.events else b""
        self.transport.write(b"%x\r\n%b\r\n%b" % (len(data), data, last))
        if not last:
            due += self.gap_s
            asyncio.get_running_loop().call_at(due, self.event, received_at, number + 1, due)


async def serve() -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Replica, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def replica(first_ms: float, gap_ms: float, events: int) -> Iterator[str]:
    """The address of a replica in a process of its own."""
    words = [sys.executable, str(Path(__file__)), str(first_ms), str(gap_ms), str(events)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:  # noqa: S603
        assert child.stdin
        assert child.stdout
        yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
        child.stdin.close()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Replica.first_s, Replica.gap_s = (float(word) / 1000 for word in sys.argv[1:3])
        Replica.events = int(sys.argv[3])
    asyncio.run(serve())
