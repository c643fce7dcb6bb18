"""Cases in, records out: each sample is asked once and its line is on file before it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from evalkit import runs, writing
from evalkit.contracts import Case, EvalRecord, Manifest
from evalkit.kinds import Ask
from evalkit.runner.asking import AnyTarget, late, observed, written
from evalkit.runner.capturing import CaptureFile, Entry, opened_on, recorded, refuse_silent
from evalkit.runner.ledger import Ledger
from evalkit.runner.plan import Plan, Sample, check_descriptors, planned, promised
from evalkit.runner.schedule import Work, interruptible, work_off
from evalkit.runner.selection import select

__all__ = ["Plan", "run", "select"]


async def run(
    cases: Sequence[Case],
    target: AnyTarget,
    plan: Plan | None = None,
    *,
    on_start: Callable[[Manifest], None] | None = None,
    on_record: Callable[[EvalRecord], None] | None = None,
) -> Manifest:
    """Ask the target every case and leave `<run_id>.jsonl` and `<run_id>.meta.json`; its manifest at the end.

    `target` is a bound target that is opened for the run, an async function of a case, or a plain one
    (asked in threads that the process does not wait for). What a target raises is the error of that sample's
    record; the run goes on. Records are in order of completion, each on file before `on_record` hears of
    it; they survive the death of the process. `on_start` gets the manifest once all is open: `planned`
    samples in all, `recorded` of them on file already.

    An interrupted run ends early and its manifest says so; a resumed one asks only the samples without a
    line, with `plan.retry_errors` also those that failed. Raises UsageError for a run that exists, does not
    fit the one resumed, asks for too many connections, or would capture what never shows its bytes, NoInput without cases, Locked where another
    process writes the run, BadData for a line on file that does not hold, StorageError for a full disk.
    """
    plan = plan or Plan()
    samples = planned(cases, plan.repeat)
    check_descriptors(plan.concurrency)
    if plan.capture:
        refuse_silent(target)
    run_id = runs.new_id() if plan.run_id is None else plan.run_id
    files = runs.files(run_id, writing.folder(plan.runs_dir))
    with writing.lock(files.lock):
        ledger = _ledger(files, promised(run_id, cases, plan), samples, resume=plan.resume)
        left = ledger.left(samples, retry_errors=plan.retry_errors)
        capture = CaptureFile(files.capture) if plan.capture else None
        async with opened_on(capture, target) as ask:
            with interruptible(plan.grace_s) as stop, ledger.opened() as manifest:
                if on_start:
                    on_start(manifest)
                await work_off(left, _work(ask, ledger, capture, on_record), plan=plan, stop=stop)
    return ledger.manifest


def _ledger(files: runs.RunFiles, manifest: Manifest, samples: Sequence[Sample], *, resume: bool) -> Ledger:
    """The books to go on with, or new ones."""
    if resume:
        return Ledger.resumed(files, manifest, {sample.key for sample in samples})
    return Ledger.new(files, manifest)


def _work(
    ask: Ask, ledger: Ledger, capture: CaptureFile | None, on_record: Callable[[EvalRecord], None] | None
) -> Work:
    """What is done with each sample: ask, put on file, tell."""

    async def work(sample: Sample, lag_ms: float | None) -> None:
        started_at = datetime.now(UTC)
        with recorded(capture) as taken:
            seen = await observed(sample.case, ask)
        seen = seen if lag_ms is None else late(seen, lag_ms)
        record, line = written(sample, seen, run_id=ledger.manifest.run_id, started_at=started_at)
        if capture:
            capture.add(Entry(tuple(taken), sample.case, sample.repeat, started_at, lag_ms), record.flags)
        ledger.add(record, line)
        if on_record:
            on_record(record)

    return work
