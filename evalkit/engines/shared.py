"""A folder that every process sees that works on a run: on this machine, or wherever fsspec reaches."""

from __future__ import annotations

import io
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from evalkit.errors import StorageError, UsageError
from evalkit.writing import folder as made
from evalkit.writing.disk import storing

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

__all__ = ["Folder", "shared_folder"]

_PREFIX = ".parts-"


@dataclass(frozen=True)
class _Local:
    """A folder of this machine, or one that is mounted."""

    path: Path

    def put(self, name: str, data: bytes) -> None:
        with storing(self.path / name):
            (self.path / name).write_bytes(data)

    def open(self, name: str) -> BinaryIO:
        with storing(self.path / name):
            return (self.path / name).open("rb")


@dataclass(frozen=True)
class _Remote:
    """A folder by its URL."""

    url: str

    def put(self, name: str, data: bytes) -> None:
        with self._reaching(name) as (files, path):
            files.pipe_file(path, data)

    def open(self, name: str) -> BinaryIO:
        with self._reaching(name) as (files, path):
            return io.BytesIO(cast("bytes", files.cat_file(path)))

    def make(self) -> None:
        with self._reaching() as (files, path):
            files.makedirs(path, exist_ok=True)

    def remove(self) -> None:
        with self._reaching() as (files, path):
            if files.exists(path):
                files.rm(path, recursive=True)

    @contextmanager
    def _reaching(self, *names: str) -> Iterator[tuple[AbstractFileSystem, str]]:
        files, path = _files(self.url)
        place = "/".join([path, *names])
        try:
            yield files, place
        except OSError as error:
            raise StorageError(
                f"{'/'.join([self.url, *names])}: the storage refused ({error or type(error).__name__}), wanted a folder "
                "that all workers see and may write to; name another --scratch, or mend the permissions."
            ) from error


Folder: TypeAlias = "_Local | _Remote"
"""Files by their names: `put` makes one of bytes, `open` reads one; can be sent to other processes.

StorageError where the storage refuses, or where a file is not there.
"""


@contextmanager
def shared_folder(where: Path | str | None) -> Iterator[Folder]:
    """A new folder in `where`, a path or a URL (by itself in that of the system for such things), until the block ends.

    UsageError for a URL without the extra, and for one that it does not know.
    """
    if isinstance(where, str) and "://" in where:
        with _remote(where) as found:
            yield found
        return
    parent = None if where is None else made(Path(where))
    with tempfile.TemporaryDirectory(prefix=_PREFIX, dir=parent) as place:
        yield _Local(Path(place).absolute())


@contextmanager
def _remote(url: str) -> Iterator[Folder]:
    found = _Remote(f"{url.rstrip('/')}/{_PREFIX}{secrets.token_hex(8)}")
    found.make()
    try:
        yield found
    finally:
        found.remove()


def _files(url: str) -> tuple[AbstractFileSystem, str]:
    """The file system of a URL, and the path in it."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            f"--scratch {url}: found no fsspec, wanted the extra: pip install 'evalkit[dask]'."
        ) from None
    try:
        files, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(
            f"--scratch {url}: found {error}, wanted a URL that fsspec knows here and on all workers."
        ) from None
    return files, str(path)
