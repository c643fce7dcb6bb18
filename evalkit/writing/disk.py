"""What all writing shares: modes, flags, whole writes, and how a refusal of the disk is told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from evalkit.errors import StorageError

__all__ = ["FILE_MODE", "FOLDER_MODE", "NEW", "SAFE", "storing", "sync_folder", "write_all"]

FILE_MODE = 0o600
FOLDER_MODE = 0o700
NEW = os.O_CREAT | os.O_EXCL
SAFE = os.O_NOFOLLOW | os.O_CLOEXEC


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Hand over all bytes; the kernel takes a line in one write unless the disk is about to be full."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


@contextlib.contextmanager
def storing(path: Path, *, passing: type[OSError] | tuple[()] = ()) -> Iterator[None]:
    """What the disk refuses, told with its place; `passing` is the caller's own business."""
    try:
        yield
    except passing:
        raise
    except OSError as error:
        raise StorageError(
            f"{path}: the disk refused ({error.strerror or error}); "
            "free space or mend the permissions, then go on: what was written before is intact."
        ) from error


def sync_folder(path: Path) -> None:
    """Make a new name in the folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
