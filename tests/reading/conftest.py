"""The readers of runs that must say the same of every file, good or bad."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from evalkit.contracts import EvalRecord
from evalkit.errors import BadData, NoInput
from evalkit.reading import Intake, read
from evalkit.records import load
from evalkit.records.loading import ROWS_UP_TO


class Outcome(NamedTuple):
    """What a reader made of a file: lines that hold, why each of the others does not, blank, torn, and its end."""

    ok: int
    bad: dict[int, str]
    blank: int
    torn: int
    whole: bool


def exact(path: Path) -> Outcome:
    """The line by line reader: the law for what is accepted."""
    reading = read(path, EvalRecord, torn_tail=True, rejecting=True)
    bad = {line.line: line.reason for line in reading.rejects}
    return Outcome(len(reading.items), bad, reading.blank, reading.torn, reading.whole)


def loaded(path: Path, *, rows_up_to: int = ROWS_UP_TO) -> Outcome:
    """What commands read runs with."""
    intake = Intake(reject=True)
    try:
        load(path, intake=intake, rows_up_to=rows_up_to)
    except BadData:  # not read to its end: nothing else is fatal where lines are rejected
        return exact(path)._replace(whole=False)
    except NoInput:
        pass
    assert intake.counts
    bad = {line.line: line.reason for line in intake.rejected}
    return Outcome(intake.counts.ok, bad, intake.counts.blank, intake.counts.torn, whole=True)


READERS: dict[str, Callable[[Path], Outcome]] = {
    "exact": exact,
    "load": loaded,
    "load by columns": partial(loaded, rows_up_to=0),
}
"""Every reader of runs, by name."""


@pytest.fixture(params=READERS.values(), ids=READERS)
def reader(request: pytest.FixtureRequest) -> Callable[[Path], Outcome]:
    """Each of them."""
    found: Callable[[Path], Outcome] = request.param
    return found


@pytest.fixture
def readers() -> dict[str, Callable[[Path], Outcome]]:
    """All of them, by name."""
    return READERS
