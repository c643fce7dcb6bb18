"""A file of lines in large pieces, each of whole lines, with the number and the place of its first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BufferedIOBase
from pathlib import Path
from typing import NamedTuple

from evalkit.errors import BadData, Fault
from evalkit.reading.decoding import MAX_LINE_BYTES
from evalkit.reading.sources import decoded

__all__ = ["BLOCK_BYTES", "BOM", "Block", "Line", "blocks", "lines"]

BLOCK_BYTES = (
    2**20
)  # larger ones cost twice the time: they are out of the cache when they are looked at again
BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    """One line: its number from 1, the offset of its first byte, its bytes, and whether `\\n` ended it."""

    number: int
    offset: int
    raw: bytes
    ended: bool


class Block(NamedTuple):
    """Whole lines as they stand in the text: the number of the first, the offset of its first byte, all bytes.

    A byte order mark, carriage returns and blank lines are still there; only the last line of the file may be
    without its `\\n`.
    """

    number: int
    offset: int
    raw: bytes

    def lines(self) -> Iterator[Line]:
        """The lines one at a time, without what ends them and without the file's byte order mark."""
        start = 0
        for number, raw in enumerate(_split(self.raw)):
            yield self.line(number, start, start + len(raw))
            start += len(raw)

    def line(self, number: int, start: int, stop: int) -> Line:
        """The `number`-th line, from 0, which stands between these bytes, its end among them."""
        raw, offset = self.raw[start:stop], self.offset + start
        return Line(self.number + number, offset, _body(raw, offset), raw.endswith(b"\n"))


def blocks(path: Path, *, size: int = BLOCK_BYTES, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Block]:
    """The text of the file in blocks of about `size` bytes, and of what a line takes beyond them.

    Raises NoInput where the file cannot be read, BadData at a line of more than `max_bytes` and where compressed
    data is damaged, both after the blocks of all lines before: what comes after is not read.
    """
    number, offset = 1, 0
    with decoded(path) as file:
        for raw in _whole(_pieces(file, min(size, max_bytes)), max_bytes + len(BOM) + len(b"\r\n")):
            # Only the first line can be longer than a piece.
            first = raw[: raw.find(b"\n") + 1 or len(raw)]
            if len(_body(first, offset)) > max_bytes:
                found = f"more than {max_bytes:,} bytes"
                raise BadData([Fault(str(path), number, "line", found, "a shorter line; the rest is unread")])
            yield Block(number, offset, raw)
            number += raw.count(b"\n")
            offset += len(raw)


def lines(path: Path, *, max_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    """The lines of the file, one at a time; raises as `blocks`."""
    for block in blocks(path, max_bytes=max_bytes):
        yield from block.lines()


def _pieces(file: BufferedIOBase, size: int) -> Iterator[bytes]:
    """The bytes in pieces of `size`; where the source breaks, all that came before it stand in the last."""
    held: list[bytes] = []
    room = size
    try:
        while piece := file.read1(room):
            held.append(piece)
            room -= len(piece)
            if not room:
                yield b"".join(held)
                held, room = [], size
    except BadData:
        yield b"".join(held)
        raise
    yield b"".join(held)


def _whole(pieces: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """The same bytes cut after a line's end; a line that grows beyond `longest` is given as far as it was read."""
    rest: list[bytes] = []
    for piece in pieces:
        end = piece.rfind(b"\n") + 1
        if end:
            yield b"".join((*rest, memoryview(piece)[:end]))
            rest = []
        rest.append(piece[end:])
        if sum(map(len, rest)) > longest:
            break
    if any(rest):
        yield b"".join(rest)


def _split(raw: bytes) -> Iterator[bytes]:
    """The lines with their ends; `\\n` alone ends one."""
    start = 0
    while end := raw.find(b"\n", start) + 1:
        yield raw[start:end]
        start = end
    if start < len(raw):
        yield raw[start:]


def _body(raw: bytes, offset: int) -> bytes:
    return (raw if offset else raw.removeprefix(BOM)).removesuffix(b"\n").removesuffix(b"\r")
