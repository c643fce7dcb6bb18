"""How the server behaves: pace, limits, users. Plain frozen values with the defaults of the real system."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.errors import UsageError, shown
from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.knowledge import DATA

__all__ = ["Limits", "Pacing", "Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pacing:
    """How fast an answer comes: `think_ms` until the first delta, then `chunk_chars` every `chunk_ms`."""

    chunk_chars: int = 5
    chunk_ms: float = 2.0
    think_ms: float = 20.0

    def __post_init__(self) -> None:
        """Refuse a pace at which nothing would ever come."""
        for name, least in (("chunk_chars", 1), ("chunk_ms", 0), ("think_ms", 0)):
            value = getattr(self, name)
            if not least <= value < math.inf:
                raise UsageError(f"pace {name}: found {shown(value)}, wanted {least} or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is let in: streams at once and how long one waits for its turn, length of a question, life of a login.

    `one_stream_per_user` holds for the agent engine alone.
    """

    max_concurrent: int = 10
    max_wait_ms: float = 15_000.0
    question_chars: int = 500
    token_seconds: float = 30 * 86_400.0
    one_stream_per_user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of it. `shared_books` lets all conversations work on one set of orders and bookings."""

    faults: Faults = field(default_factory=Faults)
    pacing: Pacing = field(default_factory=Pacing)
    limits: Limits = field(default_factory=Limits)
    users: Mapping[str, str] = field(default_factory=lambda: {"admin": "admin"})
    data: Path = DATA
    shared_books: bool = False
