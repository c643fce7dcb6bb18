"""When each sample is asked: in order, so many at once, by the clock where a rate is set, until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from evalkit.runner.plan import Plan, Sample

__all__ = ["Stop", "Work", "interruptible", "work_off"]

STAGGER_S = 0.005
"""Between the first starts of two workers: a burst of simultaneous starts would measure itself."""

Work: TypeAlias = Callable[[Sample, float | None], Awaitable[None]]
"""What is done with a sample, and when it was due by the loop's clock, null where it had no time."""


class Stop:
    """The wish to stop: at the first no sample is begun any more, at the second those in flight are cancelled.

    After the first they have `grace_s` seconds.
    """

    def __init__(self, grace_s: float) -> None:
        """Nobody has wished it yet, and nobody works."""
        self.wished = asyncio.Event()
        self.crew: Sequence[asyncio.Task[None]] = ()
        self._grace_s = grace_s

    def wish(self) -> None:
        """Wish it once (more)."""
        if self.wished.is_set():
            self.cancel()
        self.wished.set()
        asyncio.get_running_loop().call_later(self._grace_s, self.cancel)

    def cancel(self) -> None:
        """End those who work."""
        for task in self.crew:
            task.cancel()


async def work_off(samples: Sequence[Sample], work: Work, *, plan: Plan, stop: Stop) -> None:
    """Do `work(sample, due)` for each sample, started in order, at most `plan.concurrency` at once.

    With a rate, sample i is due i / rate seconds after the start, whatever became of those before it (an open
    loop, as far as the concurrency lets it); without, samples follow one another and `due` is null. `stop` ends
    it early. Work's exceptions end it all.
    """
    loop = asyncio.get_running_loop()
    begin, queue = loop.time(), enumerate(samples)

    async def worker(number: int) -> None:
        if plan.rate is None:
            await _until(begin + number * STAGGER_S, stop.wished)
        for index, sample in queue:
            due = None if plan.rate is None else begin + index / plan.rate
            if due is not None:
                await _until(due, stop.wished)
            if stop.wished.is_set():
                return
            await work(sample, due)

    stop.crew = [asyncio.create_task(worker(n)) for n in range(min(plan.concurrency, len(samples)))]
    await _finished(stop)


async def _until(when: float, stop: asyncio.Event) -> None:
    """Sleep until the loop's clock says `when`, or until stopped."""
    delay = when - asyncio.get_running_loop().time()
    if delay > 0:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), delay)


async def _finished(stop: Stop) -> None:
    """Wait for the crew; the first exception ends the others and is raised."""
    crew = stop.crew
    try:
        if crew:
            await asyncio.wait(crew, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        stop.cancel()
        await asyncio.gather(*crew, return_exceptions=True)
    for task in crew:
        if not task.cancelled() and (error := task.exception()):
            raise error


@contextlib.contextmanager
def interruptible(grace_s: float) -> Iterator[Stop]:
    """A stop that each SIGINT and SIGTERM wishes for; only the main thread of a process can take them over.

    Whatever has to be saved is saved inside: until the end of the block no signal ends the process.
    """
    stop = Stop(grace_s)
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, stop.wish)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler or signal.SIG_DFL)
