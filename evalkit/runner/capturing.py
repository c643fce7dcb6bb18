"""The capture of a run: `<run_id>.capture`, every exchange of every sample, to be read again years later.

A file of gzip members, one for the opening of the target and one for each sample, each a JSON object. A member is
on file before its record is, in one write, so whatever has a record has its exchanges. A reader passes over a
member that a dying process left torn, wherever it stands; `zcat` shows the rest.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import mmap
import os
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from evalkit import writing
from evalkit.contracts import Case
from evalkit.errors import NoInput, UsageError
from evalkit.kinds import Ask
from evalkit.net.capture import Recording, on
from evalkit.net.taken import Taken
from evalkit.reading.encoding import escaped
from evalkit.runner.asking import AnyTarget, opened

__all__ = ["CaptureFile", "Entry", "opened_on", "recorded", "refuse_silent", "stored"]

_MEMBER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00"  # gzip, deflate, no name and no time: how each of ours begins
_STEP = 1 << 16


class Entry(NamedTuple):
    """One member: the exchanges of a sample, or of the opening of the target, which has no case.

    `withheld` says that the exchanges were not kept, because a secret stood in them in pieces; `doubtful` that the
    client may have read them too late.
    """

    taken: tuple[Taken, ...]
    case: Case | None = None
    repeat: int = 0
    started_at: datetime | None = None
    lag_ms: float | None = None
    withheld: bool = False
    doubtful: bool = False


class CaptureFile:
    """The file while a run is written; opened at the first entry. `power` is that of a LineFile."""

    def __init__(self, path: Path, *, power: bool = False) -> None:
        self._path = path
        self._power = power

    def add(self, entry: Entry, flags: Sequence[str] = ()) -> None:
        """Put the entry on file; StorageError where the disk refuses.

        With the flag `secret_in_answer` a secret was seen. Where none stands in the bytes in one piece, it came
        in several, which nobody can black out: then the exchanges are withheld.
        """
        if "secret_in_answer" in flags and not any(taken.tells_secret for taken in entry.taken):
            entry = entry._replace(taken=(), withheld=True)
        with writing.LineFile(self._path, new=False, power=self._power) as file:
            file.append(_packed(entry))


def refuse_silent(target: object) -> None:
    """UsageError where a target is not known to ask over evalkit's own HTTP client: there would be no bytes."""
    function = getattr(target, "func", target)
    if not getattr(function, "over_http", False):
        name = getattr(function, "__name__", repr(function))
        raise UsageError(
            f"--capture: the target {name} does not say that it asks over evalkit's HTTP client, so no byte of it "
            "would be kept; leave --capture out, or describe the service in evalkit.toml."
        )


@contextlib.asynccontextmanager
async def opened_on(file: CaptureFile | None, target: AnyTarget) -> AsyncIterator[Ask]:
    """The open target, the exchanges of its opening captured first."""
    async with contextlib.AsyncExitStack() as stack:
        with recorded(file) as taken:
            ask = await stack.enter_async_context(opened(target))
        if file:
            file.add(Entry(tuple(taken)))
        yield ask


@contextlib.contextmanager
def recorded(file: CaptureFile | None) -> Iterator[list[Taken]]:
    """The exchanges of this block as they come; none without a file."""
    tape = Recording()
    with on(tape) if file else contextlib.nullcontext():
        yield tape.taken


def _packed(entry: Entry) -> bytes:
    fields = {
        **entry._asdict(),
        "case": entry.case and entry.case.model_dump(mode="json"),
        "started_at": entry.started_at and entry.started_at.isoformat(),
        "taken": [taken.plain() for taken in entry.taken],
    }
    return gzip.compress(escaped(json.dumps(fields, ensure_ascii=False)), mtime=0)


def stored(path: Path) -> tuple[list[Entry], int]:
    """The entries in order, and how many bytes belong to none; NoInput without the file."""
    entries: list[Entry] = []
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                return [], 0
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                lost = _read(data, entries)
    except OSError as error:
        raise NoInput(f"{path}: cannot be read ({error.strerror or error}), wanted a capture.") from error
    return entries, lost


def _read(data: mmap.mmap, entries: list[Entry]) -> int:
    """Collect the whole members; how many bytes are in none of them."""
    at, lost = 0, 0
    while (begin := data.find(_MEMBER, at)) >= 0:
        lost += begin - at
        found = _member(data, begin)
        if found is None:
            at, lost = begin + 1, lost + 1
        else:
            entries.append(found[0])
            at = found[1]
    return lost + len(data) - at


def _member(data: mmap.mmap, begin: int) -> tuple[Entry, int] | None:
    """The entry of the member that begins there, and where it ends; None where it is broken."""
    unpacked, parts, at = zlib.decompressobj(wbits=31), list[bytes](), begin
    try:
        while not unpacked.eof and at < len(data):
            parts.append(unpacked.decompress(data[at : at + _STEP]))
            at += _STEP
        if not unpacked.eof:
            return None
        entry = _entry(json.loads(b"".join(parts)))
    except (zlib.error, ValueError, TypeError, KeyError):
        return None
    return entry, min(at, len(data)) - len(unpacked.unused_data)


def _entry(fields: dict[str, Any]) -> Entry:
    return Entry(
        **{
            **fields,
            "case": fields["case"] and Case.model_validate(fields["case"]),
            "started_at": fields["started_at"] and datetime.fromisoformat(fields["started_at"]),
            "taken": tuple(map(Taken.of, fields["taken"])),
        }
    )
