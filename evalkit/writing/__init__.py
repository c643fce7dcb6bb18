"""How bytes reach the disk: a derived file is replaced whole, a run only grows, one line a write.

Whoever is killed leaves the old file or the new one, and a run of whole lines with at most one torn at its
end. What the disk refuses is a StorageError, never a shrug.
"""

from __future__ import annotations

from evalkit.writing.disk import FILE_MODE
from evalkit.writing.growing import LineFile, mend
from evalkit.writing.locking import lock
from evalkit.writing.replacing import draft, folder, replace

__all__ = ["FILE_MODE", "LineFile", "draft", "folder", "lock", "mend", "replace"]
