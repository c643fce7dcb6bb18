"""Measures: one record to one judgement, by one question to a judge or by several that are put together.

A measure that does not apply to a record asks nothing and gives null. One whose question found no verdict gives
that judgement on, so that its reason is never lost in a number.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol

from evalkit.contracts import EvalRecord, Judgement

__all__ = ["Measure"]


class Measure(Protocol):
    """A record to its judgement; null where the measure does not apply to it.

    What it asks, it takes as keyword-only argument: `judge`, `embed`, and what else it needs to know.
    """

    def __call__(self, record: EvalRecord, /) -> Awaitable[Judgement | None]:
        """The judgement of `record`."""
