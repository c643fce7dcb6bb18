"""A process that asks for another one: seen from there. What it does itself is `evalkit.runner.working`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import evalkit
from evalkit.contracts import EvalRecord
from evalkit.errors import UsageError
from evalkit.net.masking import KNOWN
from evalkit.reading import Line, parse
from evalkit.runner.pipes import receive, send
from evalkit.runner.plan import Sample

__all__ = ["Order", "Worker", "WorkerDied"]

_LAST_WORDS_S = 5.0


class WorkerDied(Exception):
    """The process is gone, and with it what it was asked."""


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is started for: a target by name, and how many cases it has in flight at most.

    `gate` is the open file in which it has the seat that it is given when it is started (`evalkit.net.gate`).
    """

    target: str
    params: dict[str, Any]
    concurrency: int
    run_id: str
    gate: int


class Worker:
    """A process, ready to ask; `busy` cases are in flight there, `dead` says that it is gone, `seat` whose place it has."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        seat: int,
        streams: tuple[asyncio.StreamReader, asyncio.StreamWriter],
    ) -> None:
        self._child = child
        self.seat = seat
        self._reader, self._writer = streams
        self._pending: dict[str, asyncio.Future[str]] = {}
        self._told: dict[str, Any] | None = None
        self._hearing: asyncio.Task[None] | None = None
        self.dead = False

    @property
    def busy(self) -> int:
        """How many cases it was asked and has not answered."""
        return len(self._pending)

    @classmethod
    async def started(cls, order: Order, seat: int) -> Self:
        """A new process with the target open; UsageError where it cannot be opened."""
        mine, theirs = socket.socketpair()
        # A session of its own: Ctrl-C in a terminal is for this process to understand.
        with theirs:
            child = subprocess.Popen(  # noqa: S603, ASYNC220 - a moment
                [sys.executable, "-m", "evalkit.runner.working", str(theirs.fileno())],
                pass_fds=[theirs.fileno(), order.gate],
                env=_environment(),
                start_new_session=True,
            )
        worker = cls(child, seat, await asyncio.open_connection(sock=mine))
        send(worker._writer, {"order": asdict(order), "seat": seat})
        try:
            ready = await receive(worker._reader)
        except asyncio.CancelledError:
            await worker.end()
            raise
        if ready is None or "refused" in ready:
            await worker.end()
            raise UsageError(
                (ready or {}).get("refused", "a worker process died before it had opened the target.")
            )
        # What this process shows and writes is masked by what this process knows.
        KNOWN.learn(ready["secrets"])
        worker._hearing = asyncio.create_task(worker._hear())
        return worker

    async def put(self, sample: Sample, due: float | None) -> tuple[EvalRecord, bytes]:
        """Have it asked; WorkerDied where the process goes down before it has answered."""
        line = await self._answer(sample, due=due)
        record = parse(Path("worker"), Line(0, 0, line, ended=True), EvalRecord)
        if isinstance(record, list):
            raise TypeError("a worker sent a line that is no record")
        return record, line

    async def warm(self, sample: Sample) -> None:
        """Have it asked and forgotten; whether the process lived through it is for the next question to find."""
        with contextlib.suppress(WorkerDied):
            await self._answer(sample, kept=False)

    async def _answer(self, sample: Sample, *, due: float | None = None, kept: bool = True) -> bytes:
        """The line that comes back, empty where it was not to be kept."""
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._pending[sample.key] = answer
        try:
            if self.dead:
                raise WorkerDied
            send(
                self._writer,
                {
                    "case": sample.case.model_dump(mode="json", exclude_unset=True),
                    "repeat": sample.repeat,
                    "key": sample.key,
                    "due": due,
                    "kept": kept,
                },
            )
            return (await answer).encode()
        finally:
            self._pending.pop(sample.key, None)

    async def finished(self) -> dict[str, Any] | None:
        """Ask no more, and what it tells of its delays; null where it is gone or says nothing."""
        with contextlib.suppress(OSError, TimeoutError):
            if not self.dead:
                self._writer.write_eof()
            if self._hearing is not None:
                await asyncio.wait_for(asyncio.shield(self._hearing), _LAST_WORDS_S)
        return self._told

    async def end(self) -> None:
        """End the process."""
        if self._hearing is not None:
            self._hearing.cancel()
        self._writer.transport.abort()
        self._child.kill()
        self._child.wait()  # a moment: nothing survives that signal
        await asyncio.sleep(0)

    async def _hear(self) -> None:
        while (message := await receive(self._reader)) is not None:
            if "check" in message:
                self._told = message["check"]
            elif (answer := self._pending.get(message["key"])) is not None and not answer.done():
                answer.set_result(message["line"])
        self.dead = True
        for answer in self._pending.values():
            if not answer.done():
                answer.set_exception(WorkerDied())


def _environment() -> dict[str, str]:
    """The environment as it is here, in which evalkit is found where it was found here."""
    home = str(Path(evalkit.__file__).parent.parent)
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH")]))}
