"""When each sample is asked: in order, so many at once, by the clock where a rate is set, until stopped."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from evalkit.runner.plan import Plan, Sample

__all__ = ["Work", "work_off"]

STAGGER_S = 0.005
"""Between the first starts of two workers: a burst of simultaneous starts would measure itself."""

Work: TypeAlias = Callable[[Sample, float | None], Awaitable[None]]
"""What is done with a sample that is so many ms late, null where it had no time."""


async def work_off(samples: Sequence[Sample], work: Work, *, plan: Plan) -> None:
    """Do `work(sample, lag_ms)` for each sample, started in order, at most `plan.concurrency` at once.

    With a rate, sample i is due i / rate seconds after the start, and `lag_ms` is how late it was started;
    without, samples follow one another and `lag_ms` is null. The first SIGINT or SIGTERM stops starting
    and gives those in flight `plan.grace_s`; the second cancels them. Work's exceptions end it all.
    """
    loop = asyncio.get_running_loop()
    stop, begin, queue = asyncio.Event(), loop.time(), enumerate(samples)

    async def worker(number: int) -> None:
        if plan.rate is None:
            await _until(begin + number * STAGGER_S, stop)
        for index, sample in queue:
            due = None if plan.rate is None else begin + index / plan.rate
            if due is not None:
                await _until(due, stop)
            if stop.is_set():
                return
            await work(sample, None if due is None else (loop.time() - due) * 1000)

    crew = [asyncio.create_task(worker(n)) for n in range(min(plan.concurrency, len(samples)))]
    with _interrupts(crew, stop, plan.grace_s):
        await _finished(crew)


async def _until(when: float, stop: asyncio.Event) -> None:
    """Sleep until the loop's clock says `when`, or until stopped."""
    delay = when - asyncio.get_running_loop().time()
    if delay > 0:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), delay)


async def _finished(crew: Sequence[asyncio.Task[None]]) -> None:
    """Wait for all; the first exception ends the others and is raised."""
    try:
        if crew:
            await asyncio.wait(crew, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        _cancel(crew)
        await asyncio.gather(*crew, return_exceptions=True)
    for task in crew:
        if not task.cancelled() and (error := task.exception()):
            raise error


def _cancel(crew: Sequence[asyncio.Task[None]]) -> None:
    for task in crew:
        task.cancel()


@contextlib.contextmanager
def _interrupts(crew: Sequence[asyncio.Task[None]], stop: asyncio.Event, grace_s: float) -> Iterator[None]:
    """Take interrupts over while the crew works; only the main thread of a process can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        if stop.is_set():
            _cancel(crew)
        stop.set()
        loop.call_later(grace_s, _cancel, crew)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler or signal.SIG_DFL)
