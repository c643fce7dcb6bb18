"""Cases in, records out: each sample is asked once and its line is on file before it counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evalkit import runs, writing
from evalkit.contracts import Case, EvalRecord, Manifest
from evalkit.runner.asking import AnyTarget
from evalkit.runner.crew import Apart, Crew, gathered, workers_for
from evalkit.runner.ledger import Ledger
from evalkit.runner.plan import Plan, Sample, check_descriptors, planned, promised
from evalkit.runner.schedule import Work, interruptible, work_off
from evalkit.runner.selection import select

__all__ = ["Apart", "Plan", "run", "select", "workers_for"]


async def run(
    cases: Sequence[Case],
    target: AnyTarget | Apart,
    plan: Plan | None = None,
    *,
    on_start: Callable[[Manifest], None] | None = None,
    on_record: Callable[[EvalRecord], None] | None = None,
) -> Manifest:
    """Ask the target every case and leave `<run_id>.jsonl` and `<run_id>.meta.json`; its manifest at the end.

    `target` is a bound target that is opened for the run, an async function of a case, or a plain one
    (asked in threads that the process does not wait for), or `Apart`: asked by processes of their own. What a target raises is the error of that sample's
    record; the run goes on. Records are in order of completion, each on file before `on_record` hears of
    it; they survive the death of the process. `on_start` gets the manifest once all is open: `planned`
    samples in all, `recorded` of them on file already.

    An interrupted run ends early and its manifest says so; a resumed one asks only the samples without a
    line, with `plan.retry_errors` also those that failed. Raises UsageError for a run that exists, does not
    fit the one resumed, or asks for too many connections, NoInput without cases, Locked where another
    process writes the run, BadData for a line on file that does not hold, StorageError for a full disk.
    """
    plan = plan or Plan()
    samples = planned(cases, plan.repeat)
    check_descriptors(plan.concurrency)
    run_id = runs.new_id() if plan.run_id is None else plan.run_id
    files = runs.files(run_id, writing.folder(plan.runs_dir))
    with writing.lock(files.lock):
        workers = target.workers if isinstance(target, Apart) else 1
        promise = promised(run_id, cases, plan, workers=workers)
        ledger = _ledger(files, promise, samples, resume=plan.resume)
        left = ledger.left(samples, retry_errors=plan.retry_errors)
        async with gathered(target, run_id=run_id, concurrency=plan.concurrency) as crew:
            with interruptible(plan.grace_s) as stop, ledger.opened() as manifest:
                if on_start:
                    on_start(manifest)
                try:
                    await work_off(left, _work(crew, ledger, on_record), plan=plan, stop=stop)
                finally:
                    ledger.check(await crew.finished())
    return ledger.manifest


def _ledger(files: runs.RunFiles, manifest: Manifest, samples: Sequence[Sample], *, resume: bool) -> Ledger:
    """The books to go on with, or new ones."""
    if resume:
        return Ledger.resumed(files, manifest, {sample.key for sample in samples})
    return Ledger.new(files, manifest)


def _work(crew: Crew, ledger: Ledger, on_record: Callable[[EvalRecord], None] | None) -> Work:
    """What is done with each sample: ask, put on file, tell."""

    async def work(sample: Sample, due: float | None) -> None:
        record, line = await crew.put(sample, due)
        ledger.add(record, line)
        if on_record:
            on_record(record)

    return work
