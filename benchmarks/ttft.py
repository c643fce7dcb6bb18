"""How far a client's time to first token is from the server's own, clients side by side in one run.

    python benchmarks/ttft.py [--streams 1,16,64,256] [--clients ours,raw,aiohttp,httpx-sse] [--repeats 3]

A replica server in a process of its own streams 30 events, the first after 200 ms, then one every 50 ms, each
with the moment it was sent and the moment the request was read. The error of a request is the client's TTFT
minus the server's. Every client asks from one process, which is new for each leg; legs alternate, and the best
of the repeats counts, because other work on the machine only ever makes them worse. `raw` is an asyncio
protocol that does nothing but find the events: what the language allows. `flagged` counts the legs in which
evalkit's check of itself said that its stamps cannot be trusted. On a machine with other work, give it a real-time
priority (`chrt -r 10 python benchmarks/ttft.py`), or the figures are those of the other work.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from replica import replica

FIRST_MS, GAP_MS, EVENTS = 200, 50, 30
IDEAL_S = (FIRST_MS + GAP_MS * (EVENTS - 1)) / 1000
SECONDS = 7  # of asking, in each leg

Seen = tuple[float, float, str]
"""When the request left, when the first text came, and the data of that event."""
FLAGGED: list[bool] = []
"""Whether our own client's check of itself said that its stamps cannot be trusted."""
Ask = Callable[[], Awaitable[Seen]]


@asynccontextmanager
async def ours(url: str, streams: int) -> AsyncIterator[Ask]:
    from evalkit.net.exchange import stream  # noqa: PLC0415
    from evalkit.net.transport import client  # noqa: PLC0415
    from evalkit.runner.selfcheck import saturated, self_checked  # noqa: PLC0415

    async with self_checked() as check, client(base_url=url, concurrency=streams) as http:

        async def ask() -> Seen:
            request = http.build_request("GET", "/answer")
            seen = await stream(http, request, first_event_deadline_s=60, total_deadline_s=60)
            assert len(seen.events) == EVENTS, seen.error
            event, arrived_at = seen.events[0]
            return seen.began_at, arrived_at, event.data

        yield ask
        FLAGGED.append(bool(saturated(check, [FIRST_MS])[0]))


@asynccontextmanager
async def httpx_sse(url: str, streams: int) -> AsyncIterator[Ask]:
    import httpx  # noqa: PLC0415
    from httpx_sse import aconnect_sse  # noqa: PLC0415

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=streams)
    async with httpx.AsyncClient(base_url=url, timeout=None, limits=limits, trust_env=False) as http:  # noqa: S113

        async def ask() -> Seen:
            began_at, first = time.perf_counter(), None
            async with aconnect_sse(http, "GET", "/answer") as source:
                async for event in source.aiter_sse():
                    first = first or (time.perf_counter(), event.data)
            assert first
            return began_at, *first

        yield ask


@asynccontextmanager
async def aiohttp(url: str, streams: int) -> AsyncIterator[Ask]:
    import aiohttp as library  # noqa: PLC0415

    async with library.ClientSession(connector=library.TCPConnector(limit=2 * streams)) as http:

        async def ask() -> Seen:
            began_at, first = time.perf_counter(), None
            async with http.get(f"{url}/answer") as response:
                async for line in response.content:
                    if line.startswith(b"data:") and first is None:
                        first = (time.perf_counter(), line[5:].decode())
            assert first
            return began_at, *first

        yield ask


class Raw(asyncio.Protocol):
    """The least that finds the events of the replica's answer."""

    size = re.compile(rb"([0-9a-f]+)\r\n")

    def connection_made(self, transport: asyncio.Transport) -> None:
        self.transport = transport

    def ask(self) -> asyncio.Future[Seen]:
        self.rest, self.events = b"", list[tuple[float, str]]()
        self.whole: asyncio.Future[Seen] = asyncio.get_running_loop().create_future()
        self.transport.write(b"GET /answer HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        self.began_at = time.perf_counter()
        self.in_head = True
        return self.whole

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        data, at = self.rest + data, 0
        if self.in_head:
            at = data.find(b"\r\n\r\n") + 4
            self.in_head = at < 4
        while not self.in_head and (match := self.size.match(data, at)):
            begin, size = match.end(), int(match[1], 16)
            if begin + size + 2 > len(data):
                break
            at = begin + size + 2
            if size == 0:
                self.whole.set_result((self.began_at, *self.events[0]))
                break
            self.events.append((now, data[begin + 5 : begin + size - 2].decode()))
        self.rest = data[at:]


@asynccontextmanager
async def raw(url: str, _streams: int) -> AsyncIterator[Ask]:
    idle: list[Raw] = []
    port = int(url.rpartition(":")[2])

    async def ask() -> Seen:
        if not idle:
            _, made = await asyncio.get_running_loop().create_connection(Raw, "127.0.0.1", port)
            idle.append(made)
        protocol = idle.pop()
        seen = await protocol.ask()
        idle.append(protocol)
        return seen

    yield ask
    for protocol in idle:
        protocol.transport.close()


CLIENTS = {"ours": ours, "raw": raw, "aiohttp": aiohttp, "httpx-sse": httpx_sse}


async def leg(client: str, url: str, streams: int) -> dict[str, Any]:
    """One client with so many streams at once, started evenly over the time of one."""
    errors: list[float] = []
    elapsed: list[float] = []

    async with CLIENTS[client](url, streams) as ask:
        loop = asyncio.get_running_loop()
        begin = loop.time()

        async def line(number: int) -> None:
            await asyncio.sleep(number * IDEAL_S / streams)
            while loop.time() - begin < SECONDS:
                started = loop.time()
                left_at, first_at, data = await ask()
                truth = json.loads(data)
                elapsed.append(loop.time() - started)
                server = truth["sent_at"] - truth["received_at"]
                errors.append(abs(first_at - left_at - server) * 1000)

        cpu = time.process_time()
        await asyncio.gather(*(line(number) for number in range(streams)))
        cpu = time.process_time() - cpu
    errors.sort()
    return {
        "n": len(errors),
        "p50": rank(errors, 0.5),
        "p99": rank(errors, 0.99),
        "cpu_us": cpu / len(errors) * 1e6,
        "throughput": IDEAL_S * len(elapsed) / sum(elapsed) * 100,
        "flagged": FLAGGED,
    }


def rank(ordered: list[float], share: float) -> float:
    return ordered[max(0, -(-len(ordered) * int(share * 100) // 100) - 1)]


def measured(client: str, streams: int, url: str) -> dict[str, Any]:
    words = [sys.executable, __file__, "--leg", client, "--streams", str(streams), "--url", url]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def best(found: list[dict[str, Any]]) -> dict[str, Any]:
    lowest = {name: min(each[name] for each in found) for name in ("p50", "p99", "cpu_us")}
    return lowest | {
        "n": sum(each["n"] for each in found),
        "throughput": max(each["throughput"] for each in found),
        "worst p99": max(each["p99"] for each in found),
        "flagged": [flag for each in found for flag in each["flagged"]],
    }


def main(clients: list[str], streams: list[int], repeats: int) -> None:
    print(f"best of {repeats}; load before {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print(
        "streams  client         n    TTFT error ms p50      p99  (worst p99)   CPU µs a case  × raw   % of ideal"
    )
    for count in streams:
        legs: dict[str, list[dict[str, Any]]] = {client: [] for client in clients}
        with replica(FIRST_MS, GAP_MS, EVENTS) as url:
            for _ in range(repeats):
                for client in clients:
                    legs[client].append(measured(client, count, url))
        found = {client: best(each) for client, each in legs.items()}
        floor = found.get("raw", {}).get("cpu_us", float("nan"))
        for client, row in found.items():
            print(
                f"{count:>7}  {client:<10}{row['n']:>6}{row['p50']:>22.2f}{row['p99']:>9.2f}{row['worst p99']:>13.2f}"
                f"{row['cpu_us']:>16.0f}{row['cpu_us'] / floor:>7.2f}{row['throughput']:>13.1f}"
                + (f"{sum(row['flagged'])} of {len(row['flagged'])}".rjust(9) if row["flagged"] else ""),
                flush=True,
            )
    print(f"\nload after {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", default="1,16,64,256")
    parser.add_argument("--clients", default=",".join(CLIENTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--leg")
    parser.add_argument("--url")
    given = parser.parse_args()
    counts = [int(count) for count in given.streams.split(",")]
    if given.leg:
        print(json.dumps(asyncio.run(leg(given.leg, given.url, counts[0]))))
    else:
        main(given.clients.split(","), counts, given.repeats)
