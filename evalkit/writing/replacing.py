"""Derived files: each is replaced whole, by a draft that takes its place when it is done."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from evalkit.errors import StorageError
from evalkit.writing.disk import FILE_MODE, FOLDER_MODE, NEW, SAFE, storing, sync_folder, write_all

__all__ = ["draft", "folder", "replace"]


def folder(path: Path) -> Path:
    """The folder at `path`, made with its parents where it is missing, for its owner alone."""
    for place in [*reversed(path.parents), path]:
        if not place.is_dir():
            with storing(place):
                place.mkdir(FOLDER_MODE, exist_ok=True)
    return path


def replace(path: Path, data: bytes) -> None:
    """Put a file of exactly `data` at `path`; as `draft`, except that what is no file but takes bytes, a FIFO
    or a character device, stays what it is and is written to.
    """
    if _is_stream(path):
        _pass_on(path, data)
        return
    with draft(path) as descriptor, storing(path):
        write_all(descriptor, data)


@contextlib.contextmanager
def draft(path: Path) -> Iterator[int]:
    """The descriptor of a file to write and read back, which stands at `path` once the block has ended well.

    Readers see the old file or the new one, never a part. Folders are made as needed, the mode of a file that
    was there is kept, a symbolic link stays a link and its end is replaced. What a killed writer left half-done
    is swept away. StorageError says what the disk refused, a folder at `path` among it; the old file is then as
    it was, as it is where the block raises.
    """
    path = _end_of(path)
    folder(path.parent)
    with storing(path):
        _sweep(path)
        descriptor, place = _draft(path)
    try:
        yield descriptor
        with storing(path):
            os.fchmod(descriptor, path.stat().st_mode & 0o777 if path.exists() else FILE_MODE)
            os.fsync(descriptor)
            place.replace(path)
            sync_folder(path.parent)
    finally:
        os.close(descriptor)
        place.unlink(missing_ok=True)


def _end_of(path: Path) -> Path:
    """Where links lead; StorageError where they lead to themselves."""
    try:
        return path.resolve()
    except RuntimeError:
        raise StorageError(
            f"{path}: found links in a circle, wanted a file to write; name another path."
        ) from None


def _is_stream(path: Path) -> bool:
    """Whether a FIFO or a character device stands there, links followed; StorageError for other non-files.

    Asked of the path as given: the link /dev/stdout ends in no path at all where output is a pipe.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode):
        return False
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return True
    found = "a folder" if stat.S_ISDIR(mode) else "neither a file nor a stream"
    raise StorageError(f"{path}: found {found}, wanted a file to write; name another path.")


def _pass_on(path: Path, data: bytes) -> None:
    with storing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)


def _draft(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, locked so that no sweep takes it for one left behind."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        descriptor = os.open(draft, os.O_RDWR | NEW | SAFE, FILE_MODE)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, draft
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove the drafts of `path` whose writers are dead."""
    for draft in path.parent.glob(f".{_literal(path.name)}.*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(draft, os.O_RDONLY | SAFE)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink(missing_ok=True)
            os.close(descriptor)


def _literal(name: str) -> str:
    """The name as a pattern that matches itself only."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)
