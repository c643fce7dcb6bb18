"""What is on file of a run: which samples are done, how they ended, and what the manifest says of it."""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple

from evalkit import runs, writing
from evalkit.contracts import EvalRecord, Manifest
from evalkit.errors import BadData, Fault, NoInput, UsageError, shown
from evalkit.reading import lines, parse
from evalkit.reading.sources import kind_of
from evalkit.runner.plan import Sample
from evalkit.runner.selfcheck import SelfCheck, saturated

__all__ = ["Ended", "Ledger", "settle"]


_PACE = {"concurrency", "agent_streams"}
"""What of a target's configuration a resumed run may change: how much is asked at once."""


class Ended(NamedTuple):
    """How the two channels of a sample ended."""

    answer: str
    evidence: str

    @property
    def failed(self) -> bool:
        """Whether asking again could help."""
        return self.answer not in {"ok", "skipped"} or self.evidence == "error"


class Ledger:
    """The books of one run; `opened` takes records in, and nothing is written before."""

    def __init__(self, files: runs.RunFiles, manifest: Manifest, ended: dict[str, Ended]) -> None:
        """The books as they stand; made by `new` or `resumed`."""
        self.files = files
        self.manifest = manifest
        self._ended = ended
        self._left: set[str] = set()
        self._ttfts = array("d")
        self._file: writing.LineFile | None = None

    @classmethod
    def new(cls, files: runs.RunFiles, manifest: Manifest) -> Ledger:
        """The books of a run that is not there yet; UsageError where it is."""
        there = runs.on_file(manifest.run_id, files.records.parent) or files.records
        for path in (there, files.manifest, files.capture):
            if os.path.lexists(path):
                raise UsageError(
                    f"run {manifest.run_id!r}: found {path}, wanted a new run; "
                    "use --resume to go on with it, or another --run-id."
                )
        return cls(files, manifest, {})

    @classmethod
    def resumed(cls, files: runs.RunFiles, manifest: Manifest, keys: Collection[str]) -> Ledger:
        """The books of a run that is there, as far as its samples are among `keys`.

        NoInput where there is no such run, UsageError where it was started otherwise than `manifest` says or is
        kept in a form that does not grow,
        BadData where a line does not hold. The files stay as they are.
        """
        _refuse_other_form(files, manifest.run_id)
        before = runs.manifest(files.records)
        if before is None:
            raise _unknown(files, manifest.run_id)
        _compare(before, manifest)
        kept = {
            "started_at": before.started_at,
            "client_saturated": before.client_saturated,
            "client_delays": before.client_delays,
            **(before.model_extra or {}),
        }
        ended = _on_file(files) if files.records.exists() else {}
        known = {key: how for key, how in ended.items() if key in keys}
        return cls(files, manifest.model_copy(update=kept), known)

    def left(self, samples: Sequence[Sample], *, retry_errors: bool) -> list[Sample]:
        """The samples still to be asked; with `retry_errors` also those that have a failed channel."""
        left = [
            sample
            for sample in samples
            if (how := self._ended.get(sample.key)) is None or (retry_errors and how.failed)
        ]
        self._left = {sample.key for sample in left}
        return left

    @contextlib.contextmanager
    def opened(self) -> Iterator[Manifest]:
        """Put the run on file as running, and at the end as complete or interrupted.

        It is complete once every sample left is recorded and the disk has said so.
        """
        if self.files.records.exists():
            writing.mend(self.files.records, torn=self.files.torn, model=EvalRecord)
        runs.save(self._now("running"), self.files.manifest)
        power = self.manifest.settings.get("durability") == "power"
        new = not self.files.records.exists()
        with writing.LineFile(self.files.records, new=new, power=power) as self._file:
            state: Literal["complete", "interrupted"] = "interrupted"
            try:
                yield self.manifest
                self._file.sync()
                state = "interrupted" if self._left else "complete"
            finally:
                runs.save(self._now(state), self.files.manifest)

    def add(self, record: EvalRecord, line: bytes) -> None:
        """Put the record on file; it counts only then."""
        if self._file is None:
            raise RuntimeError("the run is not open")
        self._file.append(line)
        self._left.discard(record.key)
        if record.ttft_ms is not None:
            self._ttfts.append(record.ttft_ms)
        settle(self._ended, record)

    def check(self, check: SelfCheck) -> None:
        """Enter what the client found of itself; that it was saturated once stays, whatever a resumed run finds."""
        found, delays = saturated(check, self._ttfts)
        if self.manifest.client_saturated is not True and delays is not None:
            told = {"client_saturated": found, "client_delays": delays}
            self.manifest = self.manifest.model_copy(update=told)

    def _now(self, state: Literal["running", "complete", "interrupted"]) -> Manifest:
        """The manifest with the counts of this moment."""
        self.manifest = self.manifest.model_copy(
            update={
                "state": state,
                "finished_at": None if state == "running" else datetime.now(UTC),
                "recorded": len(self._ended),
                "answer_ok": sum(how.answer == "ok" for how in self._ended.values()),
                "evidence_ok": sum(how.evidence == "ok" for how in self._ended.values()),
            }
        )
        return self.manifest


def _refuse_other_form(files: runs.RunFiles, run_id: str) -> None:
    """UsageError where the records are compressed, or a table: only plain lines can be added to."""
    kept = runs.on_file(run_id, files.records.parent)
    plain = kept is None or (kept == files.records and kind_of(kept) == "lines")
    if kept is not None and not plain:
        raise UsageError(
            f"run {run_id!r}: found {kept}, wanted {files.records.name} of plain lines: only such a file can be "
            "added to; write it as plain JSONL, or take another --run-id."
        )


def _unknown(files: runs.RunFiles, run_id: str) -> NoInput | UsageError:
    """Why there is nothing to resume."""
    if files.records.exists():
        return UsageError(
            f"run {run_id!r}: found {files.records} without {files.manifest.name}, wanted both, "
            "to know how it was started; use another --run-id."
        )
    return NoInput(
        f"run {run_id!r}: found no run of that id in {files.records.parent}, wanted one to resume; "
        "start it without --resume."
    )


def _compare(before: Manifest, now: Manifest) -> None:
    """UsageError naming all that differs, of what the samples on file and the new ones must share."""
    pairs: dict[str, tuple[object, object]] = {
        "eval_set_sha256": (now.eval_set_sha256, before.eval_set_sha256),
        "selection": (now.selection, before.selection),
        "repeat": (now.settings.get("repeat"), before.settings.get("repeat")),
        "target": (now.target, before.target),
    }
    pairs |= _configured(before, now)
    wrong = [
        f"{name}: found {shown(found)}, wanted {shown(wanted)}"
        for name, (found, wanted) in pairs.items()
        if found != wanted
    ]
    if wrong:
        raise UsageError(
            f"run {now.run_id!r} was started otherwise: {'; '.join(wrong)}. "
            "Resume it with what it was started with, or use another --run-id; nothing was changed."
        )


def _configured(before: Manifest, now: Manifest) -> dict[str, tuple[object, object]]:
    """The parameters of the target, now and before, as files hold them; null where one has no such parameter."""
    found, wanted = (manifest.model_dump(mode="json")["target_config"] for manifest in (now, before))
    return {
        f"target_config.{name}": (found.get(name), wanted.get(name))
        for name in sorted({*found, *wanted} - _PACE)
    }


def _on_file(files: runs.RunFiles) -> dict[str, Ended]:
    """How each sample on file ended; every line must hold but a torn last one."""
    ended: dict[str, Ended] = {}
    faults: list[Fault] = []
    for line in lines(files.records):
        record = parse(files.records, line, EvalRecord) if line.raw.strip() else []
        if not isinstance(record, list):
            settle(ended, record)
        elif line.ended:
            faults.extend(record)
    if faults:
        name = files.records.name.removesuffix(".jsonl")
        raise BadData(faults, f"Nothing was changed; `evalkit repair {name}` sets such lines aside.")
    return ended


def settle(ended: dict[str, Ended], record: EvalRecord) -> None:
    """Enter how a sample ended, as a reader will see it: the newest ok answer, else the newest."""
    before = ended.get(record.key)
    if before is None or record.answer_status == "ok" or before.answer != "ok":
        ended[record.key] = Ended(record.answer_status, record.evidence_status)
