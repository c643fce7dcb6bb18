"""The embedded target: the customer service of a small electronics shop, real enough to err by itself.

It retrieves, classifies, answers and works through tasks with its own limits, over the wire of Ragent 1.1.

    demo            the target of `--target demo`: server in a process of its own, asked like any Ragent
    serve           the server inside a running event loop
    serve_forever   the server as a process
    Faults …        known-bad behaviour, pace and limits
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.targets.demo.faults import Faults
    from evalkit.targets.demo.hosting import serve
    from evalkit.targets.demo.settings import Limits, Pacing
    from evalkit.targets.demo.standalone import serve_forever
    from evalkit.targets.demo.target import demo

__all__ = ["Faults", "Limits", "Pacing", "demo", "serve", "serve_forever"]

_HOMES = {
    "Faults": "faults",
    "Limits": "settings",
    "Pacing": "settings",
    "demo": "target",
    "serve": "hosting",
    "serve_forever": "standalone",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: client and server do not load each other's libraries."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
