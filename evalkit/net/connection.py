"""One connection: bytes are stamped in the callback that the socket's bytes arrive in, and read later.

Whatever is done with the bytes is done by whoever awaits them, so that the next arrival is not kept waiting.
"""

from __future__ import annotations

import asyncio
import select
import time
from collections import deque
from typing import cast

from evalkit.net.stamps import Stamped, Stamps

__all__ = ["Connection", "Wakes"]

_MOST_HELD = 1 << 18
"""Bytes that may have arrived and wait for their reader; beyond it the socket is not read."""
_READERS_A_TURN = 4
"""Readers that may work between two looks at the sockets; each takes about 0.1 ms."""


class Wakes:
    """Who waits for bytes is told that they are there, a few readers in each turn of the loop.

    Between two turns the loop reads all sockets, so a crowd of readers at work delays no arrival's stamp by more
    than a few of them take.
    """

    def __init__(self) -> None:
        self._left = _READERS_A_TURN
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turning = False

    def add(self, waiter: asyncio.Future[None]) -> None:
        """Wake this one, in a later turn where this one has had its number."""
        self._waiting.append(waiter)
        self._wake()
        if not self._turning:
            self._turning = True
            waiter.get_loop().call_soon(self._turn, waiter.get_loop())

    def _wake(self) -> None:
        while self._waiting and self._left:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._left -= 1

    def _turn(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = _READERS_A_TURN
        self._turning = bool(self._waiting)
        if self._turning:
            loop.call_soon(self._turn, loop)
            self._wake()


class Connection(asyncio.BufferedProtocol):
    """A connection that carries one request at a time; `ended_at` and `error` say how it ended, if it did.

    `buffer` is what one read of the socket fills at most. All connections of one event loop may share it, and `wakes`.
    """

    def __init__(self, buffer: memoryview, wakes: Wakes) -> None:
        self._buffer = buffer
        self._wakes = wakes
        self.ended_at: float | None = None
        self.error: Exception | None = None
        self.idle_at = 0.0
        self._stamps = Stamps()
        self._arrived: list[Stamped] = []
        self._held = 0
        self._waiter: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop: the connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=0)  # resume_writing then tells that all has left

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - the loop's wish, not an order
        """Called by the loop: where to put what it is about to read."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Called by the loop: so many bytes were read from the socket just now."""
        self._arrived.append(Stamped(self._buffer[:nbytes].tobytes(), time.perf_counter()))
        self._held += nbytes
        if self._held > _MOST_HELD:
            self._transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop: the connection is gone."""
        self.ended_at = time.perf_counter()
        self.error = exc
        self._wake()

    def resume_writing(self) -> None:
        """Called by the loop: the last byte of what was written has been handed to the socket."""
        self._stamps.sent_at = self._stamps.sent_at or time.perf_counter()

    def send(self, data: bytes, stamps: Stamps) -> None:
        """Write a request; `stamps` learn when it left, which a slow network may put off."""
        self._stamps = stamps
        stamps.sending_at = time.perf_counter()
        self._transport.write(data)
        if not self._transport.get_write_buffer_size():
            stamps.sent_at = time.perf_counter()

    async def arrivals(self) -> list[Stamped]:
        """What has arrived since the last time, at least one piece; nothing once the connection has ended."""
        if not self._arrived and self.ended_at is None:
            waiter = self._waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
            finally:
                self._waiter = None
        arrived, self._arrived = self._arrived, []
        if self._held > _MOST_HELD and not self._transport.is_closing():
            self._transport.resume_reading()
        self._held = 0
        return arrived

    def rest(self) -> bool:
        """Whether it may wait for another request: all was sent, nothing came that was not asked for."""
        self.idle_at = time.perf_counter()
        return self._silent() and not self._transport.get_write_buffer_size()

    def fresh(self, *, within_s: float) -> bool:
        """Whether a request may be sent: it rested no longer than that, and the server has not ended it meanwhile."""
        return time.perf_counter() - self.idle_at < within_s and self._silent() and not self._readable()

    def abort(self) -> None:
        """End it, whatever is under way."""
        self._transport.abort()

    def _silent(self) -> bool:
        return not self._arrived and self.ended_at is None and not self._transport.is_closing()

    def _readable(self) -> bool:
        """Whether the loop is about to hear from the server: an end, or bytes that nobody asked for."""
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def _wake(self) -> None:
        if self._waiter is not None:
            self._wakes.add(self._waiter)
            self._waiter = None
