"""Cases in, records out: each sample is asked once and its line is on file before it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from evalkit import runs, writing
from evalkit.contracts import Case, EvalRecord, Manifest
from evalkit.errors import UsageError
from evalkit.net.keys import mask_of
from evalkit.runner.asking import AnyTarget
from evalkit.runner.capturing import CaptureFile, refuse_silent
from evalkit.runner.crew import Apart, Crew, gathered, workers_for
from evalkit.runner.ledger import Ledger
from evalkit.runner.pacing import Pace
from evalkit.runner.plan import Plan, Sample, check_descriptors, planned, promised
from evalkit.runner.schedule import Stop, Work, interruptible, work_off
from evalkit.runner.selection import select
from evalkit.runner.watching import watched

__all__ = ["Apart", "Plan", "run", "select", "workers_for"]


_Asked: TypeAlias = Callable[[Sample, float | None], Awaitable[EvalRecord]]


async def run(
    cases: Sequence[Case],
    target: AnyTarget | Apart,
    plan: Plan | None = None,
    *,
    on_start: Callable[[Manifest], None] | None = None,
    on_record: Callable[[EvalRecord], None] | None = None,
    on_block: Callable[[str], None] | None = None,
) -> Manifest:
    """Ask the target every case and leave `<run_id>.jsonl` and `<run_id>.meta.json`; its manifest at the end.

    `target` is a bound target that is opened for the run, an async function of a case, or a plain one
    (asked in threads that the process does not wait for), or `Apart`: asked by processes of their own. What a
    target raises is the error of that sample's record; the run goes on. Records are in order of completion, each
    on file before `on_record` hears of it; they survive the death of the process. `on_start` gets the manifest
    once all is open: `planned` samples in all, `recorded` of them on file already. `on_block` is told by another
    thread which sample holds the event loop for so long that the others' times are its own.

    An interrupted run ends early and its manifest says so; a resumed one asks only the samples without a
    line, with `plan.retry_errors` also those that failed. Raises UsageError for a run that exists, does not
    fit the one resumed, asks for too many connections, or would capture what never shows its bytes or shows them
    to processes of their own, NoInput without cases, Locked where another process writes the run, BadData for a
    line on file that does not hold, StorageError for a full disk.
    """
    plan = plan or Plan()
    samples = planned(cases, plan.repeat)
    _prepare(target, plan)
    run_id = runs.new_id() if plan.run_id is None else plan.run_id
    files = runs.files(run_id, writing.folder(plan.runs_dir))
    with writing.lock(files.lock):
        promise = promised(run_id, cases, plan, workers=target.workers if isinstance(target, Apart) else 1)
        ledger = _ledger(files, promise, samples, resume=plan.resume)
        left = ledger.left(samples, retry_errors=plan.retry_errors)
        capture = CaptureFile(files.capture, power=plan.durability == "power") if plan.capture else None
        async with gathered(target, run_id=run_id, concurrency=plan.concurrency, capture=capture) as crew:
            with interruptible(plan.grace_s) as stop, ledger.opened() as manifest, watched(on_block):
                if on_start:
                    on_start(manifest)
                try:
                    await _ask(left, crew, _asked(crew, ledger, on_record), plan=plan, stop=stop)
                finally:
                    ledger.check(await crew.finished())
    return ledger.manifest


def _prepare(target: AnyTarget | Apart, plan: Plan) -> None:
    """Refuse what cannot be, and know every secret of the environment, for the sinks that all share."""
    mask_of()
    check_descriptors(plan.concurrency)
    if plan.capture:
        _refuse_apart(target)
        refuse_silent(target)


def _refuse_apart(target: AnyTarget | Apart) -> None:
    if isinstance(target, Apart):
        raise UsageError(
            f"--capture: found {target.workers} workers, wanted one process, which keeps the capture; "
            "leave --workers out, or --capture."
        )


def _ledger(files: runs.RunFiles, manifest: Manifest, samples: Sequence[Sample], *, resume: bool) -> Ledger:
    """The books to go on with, or new ones."""
    if resume:
        return Ledger.resumed(files, manifest, {sample.key for sample in samples})
    return Ledger.new(files, manifest)


async def _ask(samples: Sequence[Sample], crew: Crew, asked: _Asked, *, plan: Plan, stop: Stop) -> None:
    """Warm up, then ask at the plan's pace."""
    await _warmed(crew, samples[: plan.warmup], stop)
    pace = Pace(plan.concurrency, adaptive=plan.adaptive)
    await work_off(samples, _paced(asked, pace, stop), plan=plan, stop=stop)


async def _warmed(crew: Crew, samples: Sequence[Sample], stop: Stop) -> None:
    """Ask these once, one after the other, and forget what came; a wish to stop ends it too."""
    stop.crew = [asyncio.create_task(_each_once(crew, samples, stop))]
    await asyncio.wait(stop.crew)


async def _each_once(crew: Crew, samples: Sequence[Sample], stop: Stop) -> None:
    for sample in samples:
        if not stop.wished.is_set():
            await crew.warm(sample)


def _paced(asked: _Asked, pace: Pace, stop: Stop) -> Work:
    """Each sample in a slot of the pace; who waited for one until the run was stopped begins no more."""

    async def work(sample: Sample, due: float | None) -> None:
        async with pace.slot() as heed:
            if not stop.wished.is_set():
                heed(await asked(sample, due))

    return work


def _asked(crew: Crew, ledger: Ledger, on_record: Callable[[EvalRecord], None] | None) -> _Asked:
    """What is done with each sample: ask, put on file, tell."""

    async def asked(sample: Sample, due: float | None) -> EvalRecord:
        _name_task(sample.key)
        record, line = await crew.put(sample, due)
        ledger.add(record, line)
        if on_record:
            on_record(record)
        return record

    return asked


def _name_task(key: str) -> None:
    """Let a watch say which sample the task is about."""
    if task := asyncio.current_task():
        task.set_name(key)
