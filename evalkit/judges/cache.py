"""What was answered before, by the content of what was asked: only what held as a verdict is kept.

The key is a hash over everything that could change the answer. A file that is not whole, or not the answer to
its key, is no entry: it is asked again and replaced.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

from evalkit.errors import StorageError
from evalkit.reading import decode
from evalkit.writing import replace

__all__ = ["Cache", "content_key"]


def content_key(**parts: Any) -> str:
    """The SHA-256, in hexadecimal digits, over the JSON of all parts, keys sorted."""
    text = json.dumps(parts, ensure_ascii=False, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Cache:
    """Answers in a folder, one file each; without a folder nothing is kept."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def get(self, key: str) -> Any:
        """The answer under that key; null where there is none, or none that can be read."""
        if self._folder is None:
            return None
        with contextlib.suppress(OSError, ValueError):
            entry = decode(self._path(self._folder, key).read_bytes())
            if entry.get("key") == key and "answer" in entry:
                return entry["answer"]
        return None

    def put(self, key: str, answer: Any) -> None:
        """Keep the answer. A disk that refuses costs the entry, not the answer."""
        if self._folder is None:
            return
        text = json.dumps({"key": key, "answer": answer}, ensure_ascii=False, allow_nan=False)
        with contextlib.suppress(StorageError):
            replace(self._path(self._folder, key), text.encode("utf-8", "backslashreplace"))

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"
