"""One writer a run: a lock file that dies with its process."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from evalkit.errors import Locked
from evalkit.writing.disk import FILE_MODE, SAFE, storing

__all__ = ["lock"]


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`; Locked names the process that holds it already.

    The lock dies with its process, whatever is left on disk; a clean end leaves nothing.
    """
    descriptor = _taken(path)
    try:
        with storing(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _taken(path: Path) -> int:
    """The lock file, open and locked; another than the one found may stand there by then, so look twice."""
    while True:
        with storing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | SAFE, FILE_MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(descriptor)
            raise Locked(
                f"{path}: process {holder} is writing this run; wait for its end, or take another run id."
            ) from None
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)
