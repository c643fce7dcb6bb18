"""A file that is read from more than once, and must be the same file each time."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import IO

from evalkit.errors import StorageError
from evalkit.reading.sources import opened
from evalkit.writing.disk import storing

__all__ = ["HeldFile"]

_PIECE = 1 << 20
_SETTLED_NS = 2_000_000_000


class HeldFile:
    """A file that stays open, and is the same file, for as long as somebody holds this."""

    def __init__(self, path: Path) -> None:
        """Open the file; NoInput where it cannot be."""
        self.path = path
        with opened(path) as file:
            self.descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self.descriptor)
        self._first = self.state()

    def aside(self, unpack: Callable[[IO[bytes]], None]) -> int:
        """The descriptor of a file without a name, as long as this is held, into which `unpack` puts what is in this one.

        StorageError where the disk does not take it, or the file at the path is not the one that was opened.
        """
        with storing(self.path), tempfile.TemporaryFile() as out:
            unpack(out)
            out.flush()
            descriptor = os.dup(out.fileno())
        weakref.finalize(self, os.close, descriptor)
        if HeldFile(self.path).state() != self._first:
            raise StorageError(f"{self.path}: changed while it was read; try again.")
        return descriptor

    def state(self) -> tuple[int, ...]:
        """What changes whenever the file does, as far as its clock can tell: which file, its size, its times."""
        found = os.fstat(self.descriptor)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def is_settled(self) -> bool:
        """Whether the last change is so long ago that another one would show in `state`."""
        return time.time_ns() - os.fstat(self.descriptor).st_ctime_ns > _SETTLED_NS

    def sha256(self) -> str:
        """The SHA-256 of all its bytes, in hexadecimal digits."""
        digest, offset = hashlib.sha256(), 0
        while piece := os.pread(self.descriptor, _PIECE, offset):
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()
