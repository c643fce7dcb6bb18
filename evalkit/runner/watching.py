"""A watch over the event loop: a target that blocks it delays all other samples, and nobody would know which.

A thread looks on, because the loop itself cannot: whatever would tell of the block waits behind it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["BLOCKED_S", "watched"]

BLOCKED_S = 2.0
"""How long the loop may stand still before somebody is told."""

_TICK_S = 0.1


@contextmanager
def watched(tell: Callable[[str], None] | None, *, blocked_s: float = BLOCKED_S) -> Iterator[None]:
    """Tell, once a standstill, the name of the task that holds the running loop; nothing without `tell`."""
    if tell is None:
        yield
        return
    watch = _Watch(asyncio.get_running_loop(), tell, blocked_s)
    watch.tick()
    thread = threading.Thread(target=watch.look, daemon=True, name="evalkit-watch")
    thread.start()
    try:
        yield
    finally:
        watch.over.set()


class _Watch:
    def __init__(
        self, loop: asyncio.AbstractEventLoop, tell: Callable[[str], None], blocked_s: float
    ) -> None:
        self.over = threading.Event()
        self._loop = loop
        self._tell = tell
        self._blocked_s = blocked_s
        self._ticked_at = time.monotonic()

    def tick(self) -> None:
        """Show that the loop turns."""
        self._ticked_at = time.monotonic()
        if not self.over.is_set():
            self._loop.call_later(_TICK_S, self.tick)

    def look(self) -> None:
        """Look on until it is over."""
        told_of = 0.0
        while not self.over.wait(_TICK_S):
            since = self._ticked_at
            if time.monotonic() - since > self._blocked_s and since != told_of:
                told_of = since
                task = asyncio.current_task(self._loop)
                self._tell(task.get_name() if task else "?")
