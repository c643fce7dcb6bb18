"""The shapes that a stranger's extension must have: plain functions, told apart by what they work on.

Positional arguments are the data, keyword-only arguments the parameters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from evalkit.contracts import (
        Case,
        EvalRecord,
        Judgement,
        MetricResult,
        Observation,
        Question,
        Turn,
        Verdict,
    )

__all__ = ["Ask", "Embed", "Judge", "Metric", "Moderate", "Rule", "Target"]


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


class Rule(Protocol):
    """A case and what was said, held against parameters; a rule that asks a model is awaited.

    A rule takes the model as keyword-only argument `judge`, `embed` or `moderate`. It is blind to what it
    did not ask for, and raises UsageError where its parameters cannot mean anything.
    """

    def __call__(self, case: Case, dialog: Sequence[Turn], /) -> Verdict | Awaitable[Verdict]:
        """The verdict over the dialog of `case`."""


class Judge(Protocol):
    """A model that answers a question about given texts.

    It never raises for what the model or its server did: that is told in the judgement's `status`.
    """

    def __call__(self, question: Question, /) -> Awaitable[Judgement]:
        """The judgement."""


class Embed(Protocol):
    """A model that turns texts into vectors, one each, all of one length."""

    def __call__(self, texts: Sequence[str], /) -> Awaitable[Sequence[Sequence[float]]]:
        """The vectors."""


class Moderate(Protocol):
    """A model that says which categories of harm a text falls into.

    As with a judge, `detail["items"]` has true or false by category, and failures are told in `status`.
    """

    def __call__(self, text: str, /) -> Awaitable[Judgement]:
        """The judgement."""
