"""What judging may cost: asked before each call, against the most that the call can cost.

A call that would go beyond the limit is not made. What was judged until then stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.contracts import Usage
from evalkit.errors import Incomplete

__all__ = ["Budget", "OverBudget", "Prices"]

_SLACK = 1e-9


class OverBudget(Incomplete):
    """The next call might cost more than is left."""


@dataclass(frozen=True, slots=True)
class Prices:
    """What an endpoint charges, in one currency: for a call, and for 1,000 tokens in and out."""

    per_call: float = 0.0
    per_1k_prompt: float = 0.0
    per_1k_completion: float = 0.0

    @property
    def known(self) -> bool:
        """Whether anything has a price; without one no cost can be bounded."""
        return any((self.per_call, self.per_1k_prompt, self.per_1k_completion))

    def worst(self, sent: str, max_tokens: int) -> float:
        """The most that a call can cost: no tokenizer makes more tokens than there are bytes."""
        return self._cost(len(sent.encode("utf-8", "replace")), max_tokens)

    def actual(self, usage: Usage | None, worst: float) -> float:
        """What a call did cost by the server's own count; the worst case where it does not say."""
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return worst
        return self._cost(usage.prompt_tokens, usage.completion_tokens)

    def _cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        tokens = prompt_tokens * self.per_1k_prompt + completion_tokens * self.per_1k_completion
        return self.per_call + tokens / 1000


@dataclass(slots=True)
class Budget:
    """What is left of `max_calls` and `max_cost` (null: no limit); every try of a request is a call."""

    max_calls: int | None = None
    max_cost: float | None = None
    calls: int = 0
    spent: float = 0.0
    reserved: float = 0.0

    def reserve(self, worst: float) -> None:
        """Set the most that the next call can cost aside; OverBudget where it may be too much."""
        if self.max_calls is not None and self.calls >= self.max_calls:
            raise OverBudget(f"found {self.calls} calls made, wanted at most {self.max_calls}.")
        if self.max_cost is not None and self.spent + self.reserved + worst > self.max_cost + _SLACK:
            raise OverBudget(
                f"found {self.spent:.6g} spent, {self.reserved:.6g} in flight and up to {worst:.6g} for the next "
                f"call, wanted at most {self.max_cost:.6g} in all."
            )
        self.calls += 1
        self.reserved += worst

    def settle(self, worst: float, actual: float) -> None:
        """Book what a call that was set aside with `worst` did cost."""
        self.reserved -= worst
        self.spent += actual
