"""A file that is read from more than once, and must be the same file each time."""

from __future__ import annotations

import hashlib
import os
import time
import weakref
from pathlib import Path

from evalkit.reading.sources import opened

__all__ = ["HeldFile"]

_PIECE = 1 << 20
_SETTLED_NS = 2_000_000_000


class HeldFile:
    """A file that stays open, and is the same file, for as long as somebody holds this."""

    def __init__(self, path: Path) -> None:
        """Open the file; NoInput where it cannot be."""
        self.path = path
        with opened(path) as file:
            self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)

    def at(self, offset: int, size: int) -> bytes:
        """The bytes that stand there."""
        return os.pread(self._descriptor, size, offset)

    def state(self) -> tuple[int, ...]:
        """What changes whenever the file does, as far as its clock can tell: which file, its size, its times."""
        found = os.fstat(self._descriptor)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns

    def is_settled(self) -> bool:
        """Whether the last change is so long ago that another one would show in `state`."""
        return time.time_ns() - os.fstat(self._descriptor).st_ctime_ns > _SETTLED_NS

    def sha256(self) -> str:
        """The SHA-256 of all its bytes, in hexadecimal digits."""
        digest, offset = hashlib.sha256(), 0
        while piece := self.at(offset, _PIECE):
            digest.update(piece)
            offset += len(piece)
        return digest.hexdigest()
