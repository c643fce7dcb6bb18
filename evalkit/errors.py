"""What can go wrong, and how the process then ends.

    EvalkitError                 exit  what the person does next
    ├── UsageError                  2  change the command or the configuration
    │   └── UnknownName             2  pick one of the listed names
    ├── Incomplete                  3  resume or repair the run, then ask again
    ├── BadData                    65  mend the lines that are named
    ├── NoInput                    66  name a file that exists and is not empty
    ├── StorageError               74  free the disk, then resume
    └── Locked                     75  wait for the other writer

Every message says where, what was found, what was wanted and what to do. 0 means pass, 1 that a gate
failed, 130 that the run was interrupted by hand.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "BadData",
    "EvalkitError",
    "Fault",
    "Incomplete",
    "Locked",
    "NoInput",
    "StorageError",
    "UnknownName",
    "UsageError",
]


class EvalkitError(Exception):
    """Root of all errors that a person can act on; `exit_code` is what the process ends with."""

    exit_code: int = 2


class UsageError(EvalkitError):
    """The command, a parameter or the configuration cannot mean anything."""

    exit_code = 2


class UnknownName(UsageError):
    """No extension of that kind has that name; the message lists the nearest names and counts the others."""

    shown = 10

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = self.known = sorted(known)
        self.kind, self.name = kind, name
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        if kind == "target":
            hint += " A function of your own is named module:function."
        super().__init__(f"unknown {kind} {name!r}.{hint} Known: {self._listed() or 'none'}.")

    def _listed(self) -> str:
        """The names, those that resemble what was asked for first."""
        likeness = difflib.SequenceMatcher(None, b=self.name)

        def far(known: str) -> float:
            likeness.set_seq1(known)
            return -likeness.ratio()

        first = sorted(self.known, key=far)[: self.shown]
        more = len(self.known) - len(first)
        return ", ".join(first) + (f" and {more} more" if more else "")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str]]]:
        return UnknownName, (self.kind, self.name, self.known)


class Incomplete(EvalkitError):
    """Too little was measured to decide; nothing was lost."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong in one line of a file: where it is, what was found, what was wanted."""

    path: str
    line: int
    field: str
    found: str
    wanted: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}"
        return f"{place}: {self.field}: found {self.found}, wanted {self.wanted}"


class BadData(EvalkitError):
    """Lines of a file do not hold; `faults` has each one, the message the first of them and what to do."""

    exit_code = 65
    shown = 20

    def __init__(self, faults: Sequence[Fault], advice: str = "") -> None:
        self.faults, self.advice = tuple(faults), advice
        lines = [str(fault) for fault in self.faults[: self.shown]]
        if len(self.faults) > self.shown:
            lines.append(f"… and {len(self.faults) - self.shown} more")
        super().__init__("\n".join([*lines, advice] if advice else lines))

    def __reduce__(self) -> tuple[type[BadData], tuple[tuple[Fault, ...], str]]:
        return BadData, (self.faults, self.advice)


class NoInput(EvalkitError):
    """The named file does not exist or holds no record."""

    exit_code = 66


class StorageError(EvalkitError):
    """The disk refused bytes; everything acknowledged before is on file."""

    exit_code = 74


class Locked(EvalkitError):
    """Another process writes this run."""

    exit_code = 75
