"""Files of lines that only grow, and how the end of one that was cut is mended."""

from __future__ import annotations

import contextlib
import mmap
import os
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel

from evalkit.reading import Line, parse
from evalkit.writing.disk import FILE_MODE, NEW, SAFE, storing, sync_folder, write_all

__all__ = ["LineFile", "mend"]


class LineFile:
    """A file that only grows: each `append` is one line, or member, in one write, on file when it returns.

    With `power` an append returns only once it would survive a power cut; that takes some milliseconds.
    """

    def __init__(self, path: Path, *, new: bool, power: bool = False) -> None:
        """Open `path` to append; with `new` it must not exist (FileExistsError)."""
        self.path = path
        self._power = power
        with storing(path, passing=FileExistsError):
            flags = os.O_WRONLY | os.O_APPEND | SAFE | (NEW if new else os.O_CREAT)
            self._descriptor = os.open(path, flags, FILE_MODE)
            self._size = os.fstat(self._descriptor).st_size
            if power:
                sync_folder(path.parent)

    def append(self, line: bytes) -> None:
        """Write `line`, which ends in its only `\\n`, whole; StorageError leaves the lines before it intact.

        A disk that refuses to sync may have the line or not: it is taken back, and nothing is tried twice.
        """
        with storing(self.path):
            try:
                write_all(self._descriptor, line)
                if self._power:
                    os.fdatasync(self._descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._size)
                raise
        self._size += len(line)

    def sync(self) -> None:
        """Wait until all lines would survive a power cut; a refusal is final, nothing is tried twice."""
        with storing(self.path):
            os.fsync(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)


def mend(path: Path, *, torn: Path, model: type[BaseModel]) -> int:
    """Make the file end in a whole line; how many bytes of a torn one were moved to the file `torn`.

    A tail that holds as `model` only lacks its `\\n` and gets it; any other is a fragment.
    """
    with storing(path), path.open("r+b") as file:
        tail = _tail(file)
        if not tail:
            return 0
        if not isinstance(parse(path, Line(0, 0, tail, ended=False), model), list):
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
            return 0
        with LineFile(torn, new=False) as fragments:
            fragments.append(tail + b"\n")
            fragments.sync()
        file.truncate(file.seek(0, os.SEEK_END) - len(tail))
    return len(tail)


def _tail(file: BufferedRandom) -> bytes:
    """The bytes after the last `\\n`."""
    if not file.seek(0, os.SEEK_END):
        return b""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data[data.rfind(b"\n") + 1 :]
