"""One exchange as it is kept: what was asked, what came back, each piece with its arrival, and how it ended.

What is kept of a body are the decoded bytes as they were read. Secrets that this process knows are replaced by
stand-ins of the same length.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from evalkit.net.masking import KNOWN
from evalkit.net.transport import Stamped

__all__ = ["Taken", "stood_in"]

_IDENTIFYING = re.compile(r"authorization|cookie|api-?key|token|secret|password", re.IGNORECASE)


@dataclass(slots=True)
class Taken:
    """One exchange. Times are seconds of the monotonic clock of the process that saw it.

    `end` says how it ended: `whole`, `cut` by a deadline or an interrupt, `left` by a reader that had enough, or
    with the `error` [type, kind, message]. `status` is null where there was no response.
    """

    method: str
    url: str
    headers: list[list[str]]
    stamps: dict[str, float | None] = field(default_factory=dict)
    status: int | None = None
    reply_headers: list[list[str]] = field(default_factory=list)
    pieces: list[Stamped] = field(default_factory=list)
    end: Literal["whole", "cut", "left", "error"] = "left"
    error: list[str] | None = None
    ended_at: float = 0.0

    @property
    def body(self) -> bytes:
        """The pieces in one."""
        return b"".join(piece.data for piece in self.pieces)

    @property
    def tells_secret(self) -> bool:
        """Whether a secret stands in the response in one piece, where it can be stood in for."""
        told = [value.encode("utf-8", "surrogatepass") for _, value in self.reply_headers]
        return any(KNOWN.stood_in(part) != part for part in [self.body, *told])

    def plain(self) -> dict[str, Any]:
        """The exchange as JSON, secrets stood in for; bytes are texts of one character a byte."""
        found = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        body = KNOWN.stood_in(self.body)
        return {
            **found,
            "url": stood_in(self.url),
            "headers": [_kept(*header) for header in self.headers],
            "reply_headers": [_kept(*header) for header in self.reply_headers],
            "error": self.error and [stood_in(part) for part in self.error],
            "pieces": list(_cut(body, self.pieces)),
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Taken:
        """The exchange that was made `plain`."""
        pieces = [Stamped(text.encode("latin-1"), at) for at, text in plain["pieces"]]
        return cls(**{**plain, "pieces": pieces})


def _cut(body: bytes, pieces: Sequence[Stamped]) -> Iterator[list[Any]]:
    begin = 0
    for piece in pieces:
        yield [piece.arrived_at, body[begin : begin + len(piece.data)].decode("latin-1")]
        begin += len(piece.data)


def stood_in(text: str) -> str:
    """The text with stand-ins of the same length for the secrets that this process knows."""
    return KNOWN.stood_in(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _kept(name: str, value: str) -> list[str]:
    """A header; of one that identifies somebody only that it was there."""
    return [name, "***" if _IDENTIFYING.search(name) else stood_in(value)]
