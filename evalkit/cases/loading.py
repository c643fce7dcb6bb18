"""The cases of an eval set, all of them good or none."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from evalkit.cases.scenario import read_scenario
from evalkit.contracts import Case
from evalkit.errors import BadData, Fault, NoInput
from evalkit.reading import Reading, read
from evalkit.reading.sources import opened

__all__ = ["load_cases", "read_cases", "repeated_ids", "sha256_of"]


def load_cases(path: Path) -> list[Case]:
    """The cases of an eval set in the order of the file: one a line, or the `cases` of a `.json` document.

    Raises BadData naming every line that does not hold and every id that stands twice, NoInput where there
    is no file or no case in it.
    """
    reading = read_cases(path)
    faults = [*reading.faults, *repeated_ids(path, reading)]
    if faults:
        raise BadData(sorted(faults, key=lambda fault: fault.line))
    if not reading.items:
        raise NoInput(f"{path}: found no case, wanted at least one line.")
    return reading.items


def read_cases(path: Path) -> Reading[Case]:
    """The cases that hold and the faults of those that do not; NoInput where the file cannot be read.

    A pipe is no such file: an eval set is read more than once, and its hash names the run.
    """
    _refuse_stream(path)
    return read_scenario(path) if path.suffix == ".json" else read(path, Case)


def repeated_ids(path: Path, reading: Reading[Case]) -> Iterator[Fault]:
    """A fault for each case whose id stands before it, naming both lines."""
    first: dict[str, int] = {}
    for case, number in zip(reading.items, reading.numbers, strict=True):
        before = first.setdefault(case.sample_id, number)
        if before != number:
            found = f"{case.sample_id!r} again, as in line {before}"
            yield Fault(str(path), number, "sample_id", found, "each id once")


def sha256_of(path: Path) -> str:
    """The SHA-256 of the file's bytes, in hexadecimal digits; NoInput where it cannot be read."""
    _refuse_stream(path)
    with opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refuse_stream(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise NoInput(
            f"{path}: found a folder or a stream, wanted a regular file: an eval set is read more than once; "
            "save it to a file first."
        )
