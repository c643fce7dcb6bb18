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
import json
from collections.abc import Callable, Iterable, Sequence
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
    "shown",
]

_SHOWN = 80


def shown(value: object) -> str:
    """A value that was found, short enough for one line and harmless in a terminal.

    Texts stand in quotes as Python writes them, single ones where it can; true, false, null, lists and objects as JSON
    has them, whatever Python calls them. What cannot be written is told by its type.
    """
    if isinstance(value, str | float):
        text = repr(value)
    else:
        spelt = _spelt(value)
        text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in spelt)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _spelt(value: object) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except Exception:  # noqa: BLE001 - a cell of a data frame may be anything, and be written as it likes
        return f"a value of type {type(value).__name__}"


class EvalkitError(Exception):
    """Root of all errors that a person can act on; `exit_code` is what the process ends with."""

    exit_code: int = 2


class UsageError(EvalkitError):
    """The command, a parameter or the configuration cannot mean anything."""

    exit_code = 2


_HINTS = {
    "target": " A function of your own is named module:function.",
    "judge": " A judge is a table [judges.NAME] of evalkit.toml, see docs/judges.md.",
}
"""What else a name of that kind may be."""


class UnknownName(UsageError):
    """No extension of that kind has that name; the message lists the nearest names and counts the others."""

    shown = 10

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = self.known = sorted(known)
        self.kind, self.name = kind, name
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        hint += _HINTS.get(kind, "")
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
    """One thing wrong in one line of a file: where it is, what was found, what was wanted.

    `column` counts characters from 1 where the fault has such a place; elsewhere the field says it.
    """

    path: str
    line: int
    field: str
    found: str
    wanted: str
    column: int | None = None

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.path, self.line, self.column) if part is not None)
        return f"{place}: {self.field}: found {self.found}, wanted {self.wanted}"


class BadData(EvalkitError):
    """Lines of a file do not hold; `faults` has them, the message the first of them, the count and what to do.

    `more` is how many further ones were found and not kept.
    """

    exit_code = 65
    shown = 100

    def __init__(self, faults: Sequence[Fault], advice: str = "", *, more: int = 0) -> None:
        self.faults, self.advice, self.more = tuple(faults), advice, more
        lines = [str(fault) for fault in self.faults[: self.shown]]
        if hidden := len(self.faults) - len(lines) + more:
            lines.append(f"… and {hidden:,} more")
        super().__init__("\n".join([*lines, advice] if advice else lines))

    def __reduce__(self) -> tuple[Callable[..., BadData], tuple[tuple[Fault, ...], str, int]]:
        return _bad_data, (self.faults, self.advice, self.more)


def _bad_data(faults: Sequence[Fault], advice: str, more: int) -> BadData:
    return BadData(faults, advice, more=more)


class NoInput(EvalkitError):
    """The named file does not exist or holds no record."""

    exit_code = 66


class StorageError(EvalkitError):
    """The disk refused bytes; everything acknowledged before is on file."""

    exit_code = 74


class Locked(EvalkitError):
    """Another process writes this run."""

    exit_code = 75
