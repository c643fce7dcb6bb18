"""A run once more from its capture: the same records, byte for byte but for the name of the run.

Nothing is asked and no key is needed. Time is that of the recording: pauses and deadlines take none, because the
clock of the event loop jumps over whatever nobody has to do anything in.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from evalkit import runs
from evalkit.contracts import EvalRecord, Manifest, Observation
from evalkit.contracts.record import sample_key
from evalkit.errors import NoInput, UsageError
from evalkit.kinds import Ask
from evalkit.net.capture import Playing, on
from evalkit.net.masking import INSTEAD
from evalkit.reading import lines
from evalkit.runner.asking import AnyTarget, late, mark, observed, opened, written
from evalkit.runner.capturing import Entry, stored
from evalkit.runner.ledger import Ledger
from evalkit.runner.plan import Sample

__all__ = ["Replayed", "replay"]


class Replayed(NamedTuple):
    """What came of a replay: its manifest, and how its records are to those of the run.

    `identical` of the `replayed` records are lines of the run, byte for byte but for the run's name; `withheld`
    samples had no bytes kept, `unreadable` bytes of the capture belong to no exchange.
    """

    manifest: Manifest
    replayed: int
    identical: int
    withheld: int
    unreadable: int


def replay(records: Path, target: AnyTarget, *, run_id: str | None = None) -> Replayed:
    """Write the records of a captured run anew, beside it, under another name.

    `target` is the bound target of the run. NoInput without a capture, UsageError without a manifest or where the
    new run exists.
    """
    files, manifest = runs.beside(records), runs.manifest(records)
    if not files.capture.exists():
        raise NoInput(f"{files.capture}: found no capture, wanted one; make the run with --capture.")
    if manifest is None:
        raise UsageError(f"{records}: found no manifest beside it, wanted one, to know the target.")
    entries, lost = stored(files.capture)
    known = {line.raw for line in lines(records)} if records.exists() else set()
    new = runs.files(run_id or runs.new_id(), records.parent)
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(_replayed(entries, target, manifest, new, known, lost=lost))


async def _replayed(
    entries: Sequence[Entry],
    target: AnyTarget,
    before: Manifest,
    files: runs.RunFiles,
    known: set[bytes],
    *,
    lost: int,
) -> Replayed:
    kept = [entry for entry in entries if entry.case is not None and not entry.withheld]
    samples = [_sample(entry) for entry in kept]
    run_id = files.records.name.removesuffix(".jsonl")
    planned = before.planned if lost else len({sample.key for sample in samples})  # what is lost is missing
    ledger = Ledger.new(files, _promised(before, run_id, planned))
    ledger.left(samples, retry_errors=False)
    identical = 0
    with ledger.opened():
        for opening, section in _sections(entries):
            async with _Stage(target, opening) as stage:
                for entry in section:
                    sample, seen = _sample(entry), await stage.ask(entry)
                    ledger.add(*_written(entry, sample, seen, run_id))
                    identical += _written(entry, sample, seen, before.run_id)[1][:-1] in known
    withheld = sum(entry.withheld for entry in entries)
    return Replayed(ledger.manifest, len(kept), identical, withheld, lost)


def _written(entry: Entry, sample: Sample, seen: Observation, run_id: str) -> tuple[EvalRecord, bytes]:
    """The record and its line, as the run of that name would have written them."""
    said = mark(sample, run_id=run_id, started_at=entry.started_at or datetime.now(UTC), lag_ms=entry.lag_ms)
    return written(sample, seen, said, doubtful=entry.doubtful)


def _promised(before: Manifest, run_id: str, planned: int) -> Manifest:
    changes = {"run_id": run_id, "started_at": datetime.now(UTC), "planned": planned}
    return before.model_copy(update={**changes, "settings": {**before.settings, "replay_of": before.run_id}})


def _sample(entry: Entry) -> Sample:
    assert entry.case is not None  # noqa: S101 - openings were sorted out
    return Sample(entry.case, entry.repeat, sample_key(entry.case.sample_id, entry.repeat))


def _sections(entries: Sequence[Entry]) -> Iterator[tuple[Entry, list[Entry]]]:
    """Each opening of the target, and what was asked until the next: a resumed run has several."""
    opening, section = Entry(()), list[Entry]()
    for entry in entries:
        if entry.case is not None:
            section += [] if entry.withheld else [entry]
            continue
        if section:
            yield opening, section
        opening, section = entry, []
    yield opening, section


class _Stage(AsyncExitStack):
    """A target opened from its tape, asked from that of each sample."""

    def __init__(self, target: AnyTarget, opening: Entry) -> None:
        super().__init__()
        self._target = target
        self._opening = opening

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        with on(Playing(self._opening.taken)):
            self._ask: Ask = await self.enter_async_context(opened(self._target))
        return self

    async def ask(self, entry: Entry) -> Observation:
        """The observation as it was then, secrets blacked out as then."""
        with on(Playing(entry.taken)):
            seen = _blackened(await observed(_sample(entry).case, self._ask))
        return seen if entry.lag_ms is None else late(seen, entry.lag_ms)


def _blackened(seen: Observation) -> Observation:
    """What a mask made of secrets when they were read, made of their stand-ins."""
    plain = seen.model_dump(exclude_unset=True)
    found = _replaced(plain)
    if found == plain:
        return seen
    return Observation.model_validate({**found, "flags": (*found.get("flags", ()), "secret_in_answer")})


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return INSTEAD.sub("***", value)
    if isinstance(value, list | tuple):
        return type(value)(_replaced(inner) for inner in value)
    if isinstance(value, dict):
        return {_replaced(key): _replaced(inner) for key, inner in value.items()}
    return value


class _Idle(selectors.DefaultSelector):
    """Instead of waiting for something to happen, let the clock jump to where it would have."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if not ready and timeout:
            self._jump(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    """An event loop of which the clock goes on only by what was waited for."""

    def __init__(self) -> None:
        self._now = 0.0
        super().__init__(_Idle(self.jump))

    def time(self) -> float:
        return self._now

    def jump(self, seconds: float) -> None:
        """Let so many seconds be over."""
        self._now += seconds
