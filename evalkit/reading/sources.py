"""What a file is, told by its first bytes and not by its name, and the text inside what is compressed.

Compressed text is met with caps, because a few bytes can hold terabytes, and a damaged end is told with how far
the text went: what comes after it is unknown, not empty.
"""

from __future__ import annotations

import gzip
import io
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Literal, TypeAlias

from evalkit.errors import BadData, Fault, NoInput

__all__ = ["ENDINGS", "MAX_DECODED_BYTES", "MAX_RATIO", "decoded", "is_stream", "kind_of", "opened", "stem"]

_Kind: TypeAlias = Literal["lines", "gzip", "zstd", "Parquet", "Arrow", "Arrow stream"]

MAX_DECODED_BYTES = 4 * 2**30
MAX_RATIO = 200
ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet", ".arrow", ".feather")
"""How the names of runs and eval sets may end, the one that wins where two stand for one run first."""

_DOCUMENT = ".json"
_UNRATED = 2**20
_PIECE = 64 * 2**10
_MAGIC: dict[_Kind, re.Pattern[bytes]] = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "zstd": re.compile(
        rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"
    ),  # the second: a frame to skip, as pzstd's
    "Parquet": re.compile(rb"PAR1"),
    "Arrow": re.compile(rb"ARROW1"),
    "Arrow stream": re.compile(rb"\xff\xff\xff\xff"),
}
_HEAD = 8


def stem(path: Path) -> str:
    """The name of the file without the ending that says its kind: the id of a run, the name of an eval set."""
    for ending in (*ENDINGS, _DOCUMENT):
        if path.name.endswith(ending):
            return path.name.removesuffix(ending)
    return path.name


def opened(path: Path) -> BufferedReader:
    """The file, open for its bytes as they are; NoInput where it cannot be."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise NoInput(f"{path}: found no such file, wanted a file to read.") from None
    except (OSError, ValueError) as error:
        raise NoInput(f"{path}: cannot be read ({error}), wanted a file to read.") from None


def kind_of(path: Path) -> _Kind:
    """What the file is, by its first bytes; a stream, which can be read only once, is taken for text.

    NoInput where it cannot be read.
    """
    if is_stream(path):
        return "lines"
    with opened(path) as file:
        return _kind(file)


def is_stream(path: Path) -> bool:
    """Whether there is something that can be read only once, from its beginning; where nothing is, it is none."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False


@contextmanager
def decoded(
    path: Path, *, max_bytes: int = MAX_DECODED_BYTES, max_ratio: int = MAX_RATIO
) -> Iterator[BufferedIOBase]:
    """The text of the file, open for its bytes: as they are, or out of gzip (all members) or zstd (all frames).

    Out of a compressed file come at most `max_bytes`, and past the first MiB at most `max_ratio` for each byte
    read. Raises NoInput where the file cannot be read, BadData where it is a table; reading on raises BadData at
    a cap, and where the data is damaged or cut, naming the line: `read1` has then given all that came before.
    """
    with opened(path) as file:
        kind = _kind(file)
        if kind == "lines":
            yield file
        elif kind in ("gzip", "zstd"):
            with BufferedReader(_Decoded(path, file, kind, (max_bytes, max_ratio)), _PIECE) as text:
                yield text
        else:
            raise BadData([Fault(str(path), 1, "file", f"the format {kind}", "lines of JSON")])


def _kind(file: BufferedReader) -> _Kind:
    head = file.peek(_HEAD)[:_HEAD]
    return next((kind for kind, magic in _MAGIC.items() if magic.match(head)), "lines")


class _Counted(io.RawIOBase):
    """A file that knows how many of its bytes were taken, a pipe as well."""

    def __init__(self, file: BufferedReader) -> None:
        self._file = file
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # any buffer is one
        size = self._file.readinto1(buffer)
        self.taken += size
        return size


class _Decoded(io.RawIOBase):
    """The text in compressed data; a fault is raised by the read after the last good bytes."""

    def __init__(self, path: Path, file: BufferedReader, kind: _Kind, caps: tuple[int, int]) -> None:
        self._path, self._kind = path, kind
        self._max_bytes, self._max_ratio = caps
        self._counted = _Counted(file)
        self._read = _reader(kind, self._counted)
        self._bytes, self._lines = 0, 1
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # any buffer is one
        self._left = self._left or self._piece()
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def _piece(self) -> bytes:
        """The next bytes, always as many at a time: how far a broken file goes is no matter of who reads it."""
        try:
            piece = self._read(_PIECE)
        except (EOFError, OSError, zlib.error) as error:
            raise self._fault(self._broken(error), "a whole file; what comes after is unread") from None
        self._bytes += len(piece)
        self._hold()
        self._lines += piece.count(b"\n")
        return piece

    def _broken(self, error: Exception) -> str:
        cut = isinstance(error, EOFError) or "truncated" in str(error).lower()
        what = f"the end of the {self._kind} data" if cut else f"damaged {self._kind} data ({error})"
        return f"{what} after {self._bytes:,} bytes of text"

    def _hold(self) -> None:
        """The caps, held against what came so far."""
        taken, mend = self._counted.taken, "less; a file that you trust may be decompressed first"
        if self._bytes > self._max_bytes:
            raise self._fault(f"more than {self._max_bytes:,} bytes of text in {self._kind} data", mend)
        if self._bytes > _UNRATED and self._bytes > self._max_ratio * taken:
            found = f"{self._bytes:,} bytes of text in {taken:,} bytes of {self._kind} data"
            raise self._fault(f"{found}, more than {self._max_ratio} to 1", mend)

    def _fault(self, found: str, wanted: str) -> BadData:
        return BadData([Fault(str(self._path), self._lines, "file", found, wanted)])


def _reader(kind: _Kind, file: _Counted) -> Callable[[int], bytes]:
    if kind == "gzip":
        return gzip.GzipFile(fileobj=file, mode="rb").read1
    import pyarrow as pa  # noqa: PLC0415 - heavy, and few files need it

    read: Callable[[int], bytes] = pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd").read
    return read
