"""The shapes that a stranger's extension must have: plain functions, told apart by what they work on.

Positional arguments are the data, keyword-only arguments the parameters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evalkit.contracts import Case, EvalRecord, MetricResult, Observation

__all__ = ["Ask", "Metric", "Target"]


class Metric(Protocol):
    """Records to one result, or to several of a family: a pure function, blind to order."""

    def __call__(self, records: Sequence[EvalRecord], /) -> MetricResult | list[MetricResult]:
        """The metric over `records`."""


class Ask(Protocol):
    """One case put to the system under test; what it answered and how long that took.

    A failed channel is told in the observation's statuses; an exception means that the target itself is
    broken, and becomes the error of that case alone.
    """

    def __call__(self, case: Case, /) -> Awaitable[Observation]:
        """The observation of `case`."""


class Target(Protocol):
    """A target with a life of its own (a login, a server): opened once a run, it yields its `Ask`."""

    def __call__(self) -> AbstractAsyncContextManager[Ask]:
        """The open target."""
