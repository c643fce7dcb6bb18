"""An object store in a folder: no path of it is a path of this machine, and nothing in it is ever half-written."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fsspec import AbstractFileSystem


class Boxes(AbstractFileSystem):
    """Objects by their keys; `puts` has a byte for each that was put, what lies under `refused` is not to be had."""

    protocol = "boxes"

    def pipe_file(self, path: str, value: bytes, **_: Any) -> None:
        """Put an object."""
        draft = self._folder / secrets.token_hex(8)
        draft.write_bytes(value)
        draft.rename(self._place(path))
        with (self._folder / "puts").open("ab") as puts:
            puts.write(b".")

    def cat_file(self, path: str, **_: Any) -> bytes:
        """Get an object."""
        return self._place(path).read_bytes()

    def makedirs(self, path: str, **_: Any) -> None:
        """There are no folders."""
        self._place(path)

    def exists(self, path: str, **_: Any) -> bool:
        """Whether any object is there."""
        return bool(self._under(path))

    def rm(self, path: str, **_: Any) -> None:
        """Remove all that is there."""
        for place in self._under(path):
            place.unlink()

    @property
    def _folder(self) -> Path:
        folder = Path(os.environ["BOXES"])
        folder.mkdir(exist_ok=True)
        return folder

    def _place(self, path: str) -> Path:
        if "refused" in path:
            raise PermissionError(13, "no access to this bucket")
        return self._folder / quote(self._strip_protocol(path), safe="")

    def _under(self, path: str) -> list[Path]:
        start = self._place(path).name
        return [place for place in self._folder.iterdir() if place.name.startswith(start)]
