"""A run put before a judge: what was said before is not asked again, what stops halfway can go on.

A line is written for every verdict, and for a reply that holds none; not where the endpoint failed or the
budget ended, so that the next try asks again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import EvalRecord, Judgement
from evalkit.errors import Incomplete
from evalkit.judgements import Judged, JudgedKey
from evalkit.judges.budget import OverBudget

__all__ = ["Job", "Told", "judge_all"]

_OUTAGE = 8
"""So many failures of the endpoint in a row, and nobody is asked any more."""

_OURS = {"unusable", "too_long", "refused"}
"""Errors that another try would meet again; all others are the endpoint's."""


@dataclass(frozen=True, slots=True)
class Job:
    """One judgement to make: the key that its line will have, and how to ask for it."""

    key: JudgedKey
    record: EvalRecord
    ask: Callable[[EvalRecord], Awaitable[Judgement | None]]


@dataclass(slots=True)
class Told:
    """How a batch went, in judgements; `left` were not made because of the budget, an outage or an interruption."""

    statuses: Counter[str] = field(default_factory=Counter)
    kept: int = 0
    replayed: int = 0
    not_applicable: int = 0
    failed: int = 0
    left: int = 0
    stopped_by: str = ""
    failures: Counter[str] = field(default_factory=Counter)
    _in_a_row: int = 0

    def fail(self, reason: str) -> None:
        """Count a failure of the endpoint; too many in a row are an outage."""
        self.failed += 1
        self.failures[reason] += 1
        self._in_a_row += 1
        if self._in_a_row >= _OUTAGE:
            self.stopped_by = self.stopped_by or "outage"

    def go_on(self) -> None:
        """Whoever answers is no outage."""
        self._in_a_row = 0

    @property
    def complete(self) -> bool:
        """Whether everything that could be judged was."""
        return not self.failed and not self.left


async def judge_all(
    jobs: Iterable[Job],
    *,
    known: Mapping[JudgedKey, Judgement],
    replay: Mapping[JudgedKey, Judgement],
    write: Callable[[Judged], Any],
    concurrency: int,
) -> Told:
    """Make every judgement that is neither `known` nor in `replay`, and write its line; how that went.

    A job that raises Incomplete counts as failed. Over budget, or after 8 failures in a row, no further job is
    begun; those under way end.
    """
    told = Told()
    queue = iter(list(jobs))
    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(_work(queue, told, known=known, replay=replay, write=write))
    told.left += sum(1 for job in queue if job.key not in known)
    return told


async def _work(
    queue: Iterator[Job],
    told: Told,
    *,
    known: Mapping[JudgedKey, Judgement],
    replay: Mapping[JudgedKey, Judgement],
    write: Callable[[Judged], Any],
) -> None:
    while not told.stopped_by and (job := next(queue, None)) is not None:
        if job.key in known:
            told.kept += 1
        elif job.key in replay:
            told.replayed += 1
            _write(job, replay[job.key], told, write)
        else:
            await _ask(job, told, write)


async def _ask(job: Job, told: Told, write: Callable[[Judged], Any]) -> None:
    try:
        said = await job.ask(job.record)
    except OverBudget:
        said = Judgement(status="over_budget")
    except Incomplete as error:
        told.fail(str(error))
        return
    if said is None:
        told.not_applicable += 1
    elif said.status == "over_budget":
        told.left += 1
        told.stopped_by = "budget"
    elif _is_the_endpoints(said):
        told.fail(said.reason)
    else:
        told.go_on()
        _write(job, said, told, write)


def _is_the_endpoints(said: Judgement) -> bool:
    error: Any = said.detail.get("error")
    return said.status == "judge_error" and isinstance(error, dict) and error.get("kind") not in _OURS


def _write(job: Job, said: Judgement, told: Told, write: Callable[[Judged], Any]) -> None:
    told.statuses[said.status] += 1
    write(Judged(**job.key._asdict(), judgement=said))
