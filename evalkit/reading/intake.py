"""What becomes of the lines of a file: taken in, rejected, blank or torn, and none without a word."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from evalkit.errors import BadData, NoInput
from evalkit.reading.encoding import escaped
from evalkit.reading.files import Reading, Reject, read

__all__ = ["Intake", "LineCounts", "as_lines"]

_ModelT = TypeVar("_ModelT", bound=BaseModel)


class LineCounts(NamedTuple):
    """How many lines a file has, blank ones as well: `lines = ok + rejected + blank + torn`, always."""

    lines: int
    ok: int
    rejected: int
    blank: int
    torn: int

    def __str__(self) -> str:
        """The law with its numbers."""
        return f"{self.lines} lines = {self.ok} ok + {self.rejected} rejected + {self.blank} blank + {self.torn} torn"


@dataclass(slots=True)
class Intake:
    """How bad lines of a file are met, and what came of it.

    Strict by default: one bad line refuses the file. With `reject` bad lines are left out and kept in
    `rejected`, at most `limit` of them where there is a limit. `counts` is null until a file was taken in.
    """

    reject: bool = False
    limit: int | None = None
    rejected: list[Reject] = field(default_factory=list)
    counts: LineCounts | None = None

    def read(self, path: Path, model: type[_ModelT], *, torn_tail: bool = False) -> Reading[_ModelT]:
        """The file's lines as `model`.

        Raises BadData where lines are bad and may not be rejected, are more than the limit, or where the file
        could not be read to its end: what was not read is not rejected. NoInput where no line is good.
        """
        reading = read(path, model, torn_tail=torn_tail, rejecting=self.reject, most=BadData.shown)
        self.settle(path, reading, ok=len(reading.items))
        return reading

    def settle(self, path: Path, reading: Reading[Any], *, ok: int) -> None:
        """What comes of a file that was read, `ok` of whose lines are good; raises as `read`."""
        kept = self.reject and reading.whole and (self.limit is None or len(reading.rejects) <= self.limit)
        if reading.faults and not kept:
            raise BadData(reading.faults, self._advice(reading), more=reading.more)
        self.rejected = reading.rejects
        counts = (ok, len(reading.rejects), reading.blank, reading.torn)
        self.counts = LineCounts(sum(counts), *counts)
        if not ok:
            raise NoInput(self._nothing(path))

    def _advice(self, reading: Reading[Any]) -> str:
        """Why bad lines that may be rejected are not."""
        if not self.reject:
            return ""
        bad = f"{len(reading.rejects):,} bad line{'' if len(reading.rejects) == 1 else 's'}"
        if not reading.whole:
            return f"Nothing was rejected: found {bad}, and the file could not be read to its end."
        return f"Nothing was rejected: found {bad}, wanted at most the {self.limit:,} of --reject-limit."

    def _nothing(self, path: Path) -> str:
        told = f"{path}: found no record, wanted at least one line; {self.counts}."
        return "\n".join(
            [told, *(f"{path}:{bad.line}: {bad.reason}" for bad in self.rejected[: BadData.shown])]
        )


def as_lines(rejects: Iterable[Reject]) -> bytes:
    """`rejects.jsonl`: for each bad line its number, the offset of its first byte, why, and its bytes in base64.

    A row of a table has no offset, and its cells as JSON in place of bytes.
    """
    told = (
        json.dumps({**bad._asdict(), "raw": base64.b64encode(bad.raw).decode("ascii")}, ensure_ascii=False)
        for bad in rejects
    )
    return b"".join(escaped(line) + b"\n" for line in told)
