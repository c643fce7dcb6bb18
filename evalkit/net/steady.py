"""A process that keeps its clock straight: nothing of its own stands between a byte and its stamp for long."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["steady"]


@contextmanager
def steady() -> Iterator[None]:
    """Let the garbage collector pass over what is there already, as long as this lasts.

    A full collection looks at every object of every library that is loaded, and holds the event loop for tens of
    milliseconds while it does.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
