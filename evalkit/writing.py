"""How bytes reach the disk: a derived file is replaced whole, a run only grows, one line a write.

Whoever is killed leaves the old file or the new one, and a run of whole lines with at most one torn at its
end. What the disk refuses is a StorageError, never a shrug.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import secrets
import stat
from collections.abc import Iterator
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import BaseModel

from evalkit.errors import Locked, StorageError
from evalkit.reading import Line, parse

__all__ = ["LineFile", "folder", "lock", "mend", "replace"]

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_NEW = os.O_CREAT | os.O_EXCL
_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC


def folder(path: Path) -> Path:
    """The folder at `path`, made with its parents where it is missing, for its owner alone."""
    for place in [*reversed(path.parents), path]:
        if not place.is_dir():
            with _storing(place):
                place.mkdir(FOLDER_MODE, exist_ok=True)
    return path


def replace(path: Path, data: bytes) -> None:
    """Put a file of exactly `data` at `path`: readers see the old file or the new one, never a part.

    Folders are made as needed, the mode of a file that was there is kept, a symbolic link stays a link
    and its end is replaced. What is no file but takes bytes, a FIFO or a character device, stays what it is
    and is written to. What a killed writer left half-done is swept away. StorageError says what the disk
    refused, a folder at `path` among it; the old file is then as it was.
    """
    if _is_stream(path):
        _pass_on(path, data)
        return
    path = path.resolve()
    folder(path.parent)
    with _storing(path):
        _sweep(path)
        descriptor, draft = _draft(path)
        try:
            os.fchmod(descriptor, path.stat().st_mode & 0o777 if path.exists() else FILE_MODE)
            _write_all(descriptor, data)
            os.fsync(descriptor)
            draft.replace(path)
            _sync_folder(path.parent)
        finally:
            os.close(descriptor)
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock file at `path`; Locked names the process that holds it already.

    The lock dies with its process, whatever is left on disk; a clean end leaves nothing.
    """
    descriptor = _taken(path)
    try:
        with _storing(path):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(descriptor)


class LineFile:
    """A file that only grows: each `append` is one line, or member, in one write, on file when it returns.

    With `power` an append returns only once it would survive a power cut; that takes some milliseconds.
    """

    def __init__(self, path: Path, *, new: bool, power: bool = False) -> None:
        """Open `path` to append; with `new` it must not exist (FileExistsError)."""
        self.path = path
        self._power = power
        with _storing(path, passing=FileExistsError):
            flags = os.O_WRONLY | os.O_APPEND | _SAFE | (_NEW if new else os.O_CREAT)
            self._descriptor = os.open(path, flags, FILE_MODE)
            self._size = os.fstat(self._descriptor).st_size
            if power:
                _sync_folder(path.parent)

    def append(self, line: bytes) -> None:
        """Write `line`, which ends in its only `\\n`, whole; StorageError leaves the lines before it intact.

        A disk that refuses to sync may have the line or not: it is taken back, and nothing is tried twice.
        """
        with _storing(self.path):
            try:
                _write_all(self._descriptor, line)
                if self._power:
                    os.fdatasync(self._descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._size)
                raise
        self._size += len(line)

    def sync(self) -> None:
        """Wait until all lines would survive a power cut; a refusal is final, nothing is tried twice."""
        with _storing(self.path):
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
    with _storing(path), path.open("r+b") as file:
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
    with _storing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    """Hand over all bytes; the kernel takes a line in one write unless the disk is about to be full."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _draft(path: Path) -> tuple[int, Path]:
    """A new file beside `path`, locked so that no sweep takes it for one left behind."""
    while True:
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | _NEW | _SAFE, FILE_MODE)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor, draft
        os.close(descriptor)


def _sweep(path: Path) -> None:
    """Remove the drafts of `path` whose writers are dead."""
    for draft in path.parent.glob(f".{_literal(path.name)}.*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(draft, os.O_RDONLY | _SAFE)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                draft.unlink(missing_ok=True)
            os.close(descriptor)


def _literal(name: str) -> str:
    """The name as a pattern that matches itself only."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in name)


def _sync_folder(path: Path) -> None:
    """Make a rename in the folder survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _taken(path: Path) -> int:
    """The lock file, open and locked; another than the one found may stand there by then, so look twice."""
    while True:
        with _storing(path):
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _SAFE, FILE_MODE)
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


@contextlib.contextmanager
def _storing(path: Path, *, passing: type[OSError] | tuple[()] = ()) -> Iterator[None]:
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
