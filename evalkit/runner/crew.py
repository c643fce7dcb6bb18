"""Who asks: this process, or several of their own, so that no event loop has more streams than it can stamp."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from evalkit.contracts import ChannelError, EvalRecord, Observation
from evalkit.net.gate import seats
from evalkit.registry import Spec
from evalkit.runner.asking import AnyTarget, mark, written
from evalkit.runner.capturing import CaptureFile, opened_on
from evalkit.runner.plan import Sample
from evalkit.runner.putting import Desk
from evalkit.runner.selfcheck import SelfCheck, self_checked
from evalkit.runner.worker import Order, Worker, WorkerDied

__all__ = ["Apart", "Crew", "gathered", "workers_for"]

_STREAMS_A_WORKER = 256
"""Streams that one process stamps within the promise of docs/performance.md."""
_TRIES = 2
"""Processes that a sample may cost before it is recorded as an error of the client."""


class Apart(NamedTuple):
    """A target that each of `workers` processes opens for itself, by its name and parameters."""

    spec: Spec
    workers: int


def workers_for(concurrency: int) -> int:
    """The processes that so many cases in flight need, so that each can stamp its own; at most one a core."""
    return min(-(-concurrency // _STREAMS_A_WORKER), os.cpu_count() or 1)


class Crew(Protocol):
    """Those who ask."""

    async def put(self, sample: Sample, due: float | None) -> tuple[EvalRecord, bytes]:
        """The record of the sample and its line; `due` is when it was to begin, by the loop's clock."""

    async def warm(self, sample: Sample) -> None:
        """Have each process ask it once, and forget what came."""

    async def finished(self) -> SelfCheck:
        """What they found of their own delays; nothing is asked any more."""


@contextlib.asynccontextmanager
async def gathered(
    target: AnyTarget | Apart, *, run_id: str, concurrency: int, capture: CaptureFile | None = None
) -> AsyncIterator[Crew]:
    """The crew for a target, with the target open; UsageError where it cannot be opened.

    A capture is one process's to keep: `Apart` has none.
    """
    if isinstance(target, Apart):
        share = -(-concurrency // target.workers)
        async with contextlib.AsyncExitStack() as stack:
            gate = stack.enter_context(seats(target.workers))
            order = Order(target.spec.type, target.spec.params, share, run_id, gate)
            crew = _Several(order, [])
            stack.push_async_callback(crew.end)
            await crew.fill(target.workers)
            yield crew
        return
    async with opened_on(capture, target) as ask, self_checked() as check:
        yield _Here(ask, check, run_id, capture)


class _Here(Desk):
    async def finished(self) -> SelfCheck:
        return self.check


class _Several:
    def __init__(self, order: Order, workers: list[Worker]) -> None:
        self._order = order
        self._workers = workers
        self._filling = asyncio.Lock()
        self._check = SelfCheck()

    async def fill(self, number: int) -> None:
        """Start so many workers at once."""
        self._workers += await asyncio.gather(*(Worker.started(self._order, seat) for seat in range(number)))

    async def put(self, sample: Sample, due: float | None) -> tuple[EvalRecord, bytes]:
        for _ in range(_TRIES):
            await self._replace_dead()
            worker = min(self._workers, key=lambda each: each.busy)
            with contextlib.suppress(WorkerDied):
                return await worker.put(sample, due)
        return self._lost(sample)

    async def warm(self, sample: Sample) -> None:
        await asyncio.gather(*(worker.warm(sample) for worker in self._workers))

    async def finished(self) -> SelfCheck:
        for told in await asyncio.gather(*(worker.finished() for worker in self._workers)):
            if told is not None:
                self._check.merge(told)
        return self._check

    async def end(self) -> None:
        """End all workers, whatever they do."""
        await asyncio.gather(*(worker.end() for worker in self._workers))

    async def _replace_dead(self) -> None:
        async with self._filling:
            for number, worker in enumerate(self._workers):
                if worker.dead:
                    await worker.end()
                    self._workers[number] = await Worker.started(self._order, worker.seat)

    def _lost(self, sample: Sample) -> tuple[EvalRecord, bytes]:
        message = f"{_TRIES} processes that asked this died; the target is not to blame."
        why = ChannelError(kind="client.worker_died", message=message)
        seen = Observation(answer_status="error", answer_error=why, evidence_status="skipped")
        said = mark(sample, run_id=self._order.run_id, started_at=datetime.now(UTC), lag_ms=None)
        return written(sample, seen, said)
