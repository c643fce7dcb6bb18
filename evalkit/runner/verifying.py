"""What a run's file really holds: every line is ok, rejected, torn or blank, and the manifest agrees or not.

Nothing is written here, no lock is taken, and no line is too long or too broken to be counted.
"""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evalkit import runs
from evalkit.contracts import EvalRecord, Manifest
from evalkit.errors import BadData, Fault, NoInput, UsageError
from evalkit.reading import Line, parse
from evalkit.reading.decoding import MAX_LINE_BYTES
from evalkit.reading.sources import kind_of
from evalkit.runner.ledger import Ended, settle

__all__ = ["Reject", "Span", "Verified", "opened_bytes", "record_in", "spans", "verify"]

_BOM = b"\xef\xbb\xbf"


class Span(NamedTuple):
    """Where a line stands: its number from 1, its first byte, the byte after its last, whether `\\n` ends it."""

    number: int
    begin: int
    end: int
    ended: bool


class Reject(NamedTuple):
    """A line that holds no record: where it is, how long, and what is wrong with it first."""

    line: int
    offset: int
    bytes: int
    found: str
    wanted: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The counts of one run's file; `lines` is the sum of the four after it.

    `samples` counts each sample once, `answer_ok` and `evidence_ok` those whose channel ended well,
    `superseded` the lines for which a later or better one of the same sample stands, `fragments` the bytes put aside as torn before. `disagreements` says what the manifest
    has otherwise; `state` is the manifest's, null without one.
    """

    lines: int
    ok: int
    rejected: int
    torn: int
    blank: int
    samples: int
    answer_ok: int
    evidence_ok: int
    superseded: int
    fragments: int
    state: str | None
    rejects: tuple[Reject, ...]
    disagreements: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """Whether nothing is missing: no torn line, and no manifest that says that the run goes on."""
        return not self.torn and self.state in (None, "complete")


def verify(records: Path) -> Verified:
    """Read every line of the run once, and hold the counts against the manifest.

    A last line without its `\\n` is ok where it holds and torn where it does not. NoInput where the file
    cannot be read, or has nothing in it and no manifest says of what run.
    """
    counts = dict.fromkeys(("ok", "rejected", "torn", "blank"), 0)
    ended: dict[str, Ended] = {}
    rejects: list[Reject] = []
    strangers: dict[str | None, int] = {}
    with opened_bytes(records) as data:
        for span in spans(data):
            what = record_in(records, data, span)
            if isinstance(what, EvalRecord):
                settle(ended, what)
                strangers[what.run_id] = strangers.get(what.run_id, 0) + 1
            elif isinstance(what, Reject) and span.ended:
                rejects.append(what)
            counts[_kind(what, span)] += 1
    found = _verified(records, counts, ended, rejects, strangers)
    if found.lines == found.blank and not runs.beside(records).manifest.exists():
        raise NoInput(f"{records}: found no record, wanted at least one line.")
    return found


def _verified(
    records: Path,
    counts: dict[str, int],
    ended: dict[str, Ended],
    rejects: list[Reject],
    of_runs: dict[str | None, int],
) -> Verified:
    facts = {
        "samples": len(ended),
        "answer_ok": sum(how.answer == "ok" for how in ended.values()),
        "evidence_ok": sum(how.evidence == "ok" for how in ended.values()),
    }
    state, disagreements = _held(records, facts, of_runs)
    return Verified(
        lines=sum(counts.values()),
        **counts,
        **facts,
        superseded=counts["ok"] - len(ended),
        fragments=_fragments(runs.beside(records).torn),
        state=state,
        rejects=tuple(rejects),
        disagreements=disagreements,
    )


def _fragments(torn: Path) -> int:
    """How many bytes of a run were put aside, the ends of the lines in which they stand not counted."""
    raw = torn.read_bytes() if torn.exists() else b""
    return len(raw) - raw.count(b"\n")


def _kind(what: EvalRecord | Reject | None, span: Span) -> str:
    if what is None:
        return "blank"
    if isinstance(what, EvalRecord):
        return "ok"
    return "rejected" if span.ended else "torn"


@contextlib.contextmanager
def opened_bytes(path: Path) -> Iterator[mmap.mmap | bytes]:
    """The bytes of a file without reading them all into memory.

    NoInput where it cannot be read, UsageError where it is compressed or a table: its lines stand nowhere in it.
    """
    kind = kind_of(path)
    if kind != "lines":
        raise UsageError(f"{path}: found {kind}, wanted lines of JSON as they are; unpack it first.")
    try:
        with path.open("rb") as file:
            if not file.seek(0, 2):
                yield b""
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                yield data
    except OSError as error:
        raise NoInput(f"{path}: cannot be read ({error.strerror or error}), wanted a run.") from error


def spans(data: mmap.mmap | bytes) -> Iterator[Span]:
    """The lines, cut at `\\n` and nowhere else, however long they are."""
    begin, number, size = 0, 0, len(data)
    while begin < size:
        number += 1
        found = data.find(b"\n", begin)
        end = size if found < 0 else found
        yield Span(number, begin, end, found >= 0)
        begin = end + 1


def record_in(path: Path, data: mmap.mmap | bytes, span: Span) -> EvalRecord | Reject | None:
    """The record of a line, null of a blank one, else why it holds none."""
    size = span.end - span.begin
    if size > MAX_LINE_BYTES + 1:
        return Reject(span.number, span.begin, size, f"{size:,} bytes", f"at most {MAX_LINE_BYTES:,}")
    raw = data[span.begin : span.end].removesuffix(b"\r")
    raw = raw.removeprefix(_BOM) if span.begin == 0 else raw
    if not raw.strip():
        return None
    found = parse(path, Line(span.number, span.begin, raw, span.ended), EvalRecord)
    return found if isinstance(found, EvalRecord) else _reject(found[0], span)


def _reject(fault: Fault, span: Span) -> Reject:
    found = fault.found if fault.field == "line" else f"{fault.field}: {fault.found}"
    return Reject(span.number, span.begin, span.end - span.begin, found, fault.wanted)


def _held(
    records: Path, facts: dict[str, int], of_runs: dict[str | None, int]
) -> tuple[str | None, tuple[str, ...]]:
    """The manifest's state, and what it has otherwise than the file; counts are its last word only at the end."""
    try:
        manifest = runs.manifest(records)
    except BadData as bad:
        return None, (f"manifest: {bad}",)
    if manifest is None:
        return None, ()
    told = [
        f"run_id: found {count} records of {run_id!r}, wanted {manifest.run_id!r}"
        for run_id, count in of_runs.items()
        if run_id != manifest.run_id
    ]
    if manifest.state != "running":
        told += _counts(manifest, facts)
    return manifest.state, tuple(told)


def _counts(manifest: Manifest, facts: dict[str, int]) -> Iterator[str]:
    named = {"recorded": "samples", "answer_ok": "answer_ok", "evidence_ok": "evidence_ok"}
    for name, fact in named.items():
        if facts[fact] != (told := getattr(manifest, name)):
            yield f"{name}: found {facts[fact]} on file, the manifest says {told}"
    if manifest.state == "complete" and facts["samples"] < manifest.planned:
        yield f"planned: found {facts['samples']} samples on file, the manifest says all {manifest.planned}"
