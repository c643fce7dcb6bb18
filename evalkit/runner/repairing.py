"""Make a damaged run whole again without losing a byte of it.

Records that hold are kept where they stand; of a line that holds none, the whole records inside are kept too
(two lines in one, a record behind a fragment or behind zeros). All other bytes go to `<run_id>.torn`, and the
file as it was stays beside it as `<run_id>.before-repair`.
"""

from __future__ import annotations

import json
import mmap
import os
from collections.abc import Collection, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

from evalkit import runs, writing
from evalkit.contracts import EvalRecord, Manifest
from evalkit.errors import BadData, StorageError
from evalkit.reading import Line, parse, stem
from evalkit.runner.verifying import Reject, Span, Verified, opened_bytes, record_in, spans, verify

__all__ = ["Repaired", "repair"]

_HEAD = b'{"sample_id"'  # what every line of ours begins with
_FILL = b"\0 \t\r\xef\xbb\xbf"  # what a power cut or an editor leaves between lines
_DECODER = json.JSONDecoder()


class Repaired(NamedTuple):
    """What was done.

    `rescued` records were found in broken lines and have lines of their own now, `set_aside` bytes were none;
    `original` is the file as it was before, null where it was whole; `now` are the counts after it.
    """

    rescued: int
    set_aside: int
    original: Path | None
    now: Verified


class _Piece(NamedTuple):
    """Bytes of the file, and whether they are a line of the new one."""

    raw: bytes
    holds: bool
    rescued: bool = False


def repair(records: Path) -> Repaired:
    """Leave a file in which every line holds; a file that is whole already is not touched.

    Killed at any moment it leaves the old file or the new one. Locked where somebody writes the run, NoInput
    where it cannot be read or is empty, StorageError where the disk refuses.
    """
    files = runs.beside(records)
    with writing.lock(files.lock):
        with opened_bytes(records) as data:
            whole, ids = bytes(data), _run_ids(records, data)
            pieces = [piece for span in spans(data) for piece in _pieces(records, data, span, ids)]
        lines = b"".join(piece.raw + b"\n" for piece in pieces if piece.holds)
        bad = [piece.raw for piece in pieces if not piece.holds]
        original = None
        if lines != whole:
            original = _kept_aside(records)
            _set_aside(bad, files.torn)
            writing.replace(records, lines)
        now = _settled(files)
    return Repaired(sum(piece.rescued for piece in pieces), sum(map(len, bad)), original, now)


def _run_ids(records: Path, data: mmap.mmap | bytes) -> set[str | None]:
    """The runs whose records are looked for in broken lines: those of the whole lines, and of the manifest or the name.

    A file may be called otherwise than the run that it holds: then no manifest is beside it, and its name is another.
    """
    try:
        manifest = runs.manifest(records)
    except BadData:
        manifest = None
    whole = (record_in(records, data, span) for span in spans(data))
    found = {record.run_id for record in whole if isinstance(record, EvalRecord)}
    return {*found, manifest.run_id if manifest else stem(records)}


def _pieces(path: Path, data: mmap.mmap | bytes, span: Span, ids: Collection[str | None]) -> Iterator[_Piece]:
    """A line as it is where it is blank or holds a record; else the records in it, and what is between them."""
    raw = data[span.begin : span.end]
    if isinstance(record_in(path, data, span), Reject):
        yield from _rescued(raw, _chained(raw, list(_records(path, raw, ids))))
    else:
        yield _Piece(raw, holds=True)


def _rescued(raw: bytes, places: list[tuple[int, int]]) -> Iterator[_Piece]:
    """The parts of a broken line, in order; each byte is in one of them."""
    done = 0
    for begin, end in [*places, (len(raw), len(raw))]:
        if between := raw[done:begin]:
            yield _Piece(between, holds=False)
        if begin < end:
            yield _Piece(raw[begin:end], holds=True, rescued=True)
        done = end


def _chained(raw: bytes, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The records that follow one another from the line's beginning, or up to its end, zeros aside.

    One with a torn record around it is neither: what looks like a record there is something that a target said.
    """
    first = 0
    while first < len(places) and not raw[places[first - 1][1] if first else 0 : places[first][0]].strip(
        _FILL
    ):
        first += 1
    last = len(places)
    while last > first and not raw[places[last - 1][1] : _begin(raw, places, last)].strip(_FILL):
        last -= 1
    return [*places[:first], *places[last:]]


def _begin(raw: bytes, places: list[tuple[int, int]], index: int) -> int:
    return places[index][0] if index < len(places) else len(raw)


def _records(path: Path, raw: bytes, ids: Collection[str | None]) -> Iterator[tuple[int, int]]:
    """Where records of those runs begin and end in a broken line."""
    text = raw.decode("latin-1")  # a character a byte, so that places in one are places in the other
    at = raw.find(_HEAD)
    while at >= 0:
        end = _end_of_record(path, raw, text, at, ids)
        if end is not None:
            yield at, end
        at = raw.find(_HEAD, at + 1 if end is None else end)


def _end_of_record(path: Path, raw: bytes, text: str, at: int, ids: Collection[str | None]) -> int | None:
    """Where the record that begins there ends; None where none does."""
    try:
        _, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    found = parse(path, Line(0, at, raw[at:end], ended=True), EvalRecord)
    return end if isinstance(found, EvalRecord) and found.run_id in ids else None


def _kept_aside(records: Path) -> Path:
    """Another name for the file as it is; the new file takes only its old name."""
    for number in count(1):
        name = f"{stem(records)}.before-repair" + (f"-{number}" if number > 1 else "")
        place = records.with_name(name)
        try:
            os.link(records, place)
        except FileExistsError:
            continue
        except OSError as error:
            raise StorageError(
                f"{place}: the disk refused ({error.strerror or error}); the run was not touched."
            ) from error
        return place
    raise AssertionError


def _set_aside(bad: list[bytes], torn: Path) -> None:
    if bad:
        with writing.LineFile(torn, new=False) as fragments:
            for raw in bad:
                fragments.append(raw + b"\n")
            fragments.sync()


def _settled(files: runs.RunFiles) -> Verified:
    """The counts now, once the manifest says them too; one that cannot be read is left as it is."""
    now = verify(files.records)
    try:
        manifest = runs.manifest(files.records)
    except BadData:
        return now
    if manifest is None or (new := _counted(manifest, now)) == manifest:
        return now
    runs.save(new, files.manifest)
    return verify(files.records)


def _counted(manifest: Manifest, now: Verified) -> Manifest:
    whole = manifest.state == "complete" and now.samples >= manifest.planned
    counts = {"recorded": now.samples, "answer_ok": now.answer_ok, "evidence_ok": now.evidence_ok}
    return manifest.model_copy(update={"state": "complete" if whole else "interrupted", **counts})
