"""No call is made that might break the budget, and what is booked is what the server counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Usage
from evalkit.errors import Incomplete
from evalkit.judges.budget import Budget, OverBudget, Prices

PRICES = Prices(per_1k_prompt=1.0, per_1k_completion=2.0)


def test_the_worst_case_takes_every_byte_for_a_token() -> None:
    assert PRICES.worst("退货", 100) == pytest.approx(6 / 1000 + 200 / 1000)  # 2 characters of 3 bytes


def test_the_actual_cost_is_by_the_servers_count_else_the_worst() -> None:
    assert PRICES.actual(Usage(prompt_tokens=500, completion_tokens=250), 9.0) == pytest.approx(1.0)
    assert PRICES.actual(Usage(prompt_tokens=500), 9.0) == 9.0
    assert PRICES.actual(None, 9.0) == 9.0


def test_a_limit_that_is_met_exactly_is_not_exceeded() -> None:
    budget = Budget(max_cost=1.0)
    for _ in range(10):
        budget.reserve(0.1)
        budget.settle(0.1, 0.1)
    with pytest.raises(OverBudget, match="wanted at most 1 in all"):
        budget.reserve(0.1)
    assert budget.calls == 10


def test_running_out_is_incomplete_not_a_failure() -> None:
    with pytest.raises(Incomplete, match="found 0 calls made, wanted at most 0"):
        Budget(max_calls=0).reserve(0)


def test_what_is_in_flight_counts_with_its_worst_case() -> None:
    budget = Budget(max_cost=1.0)
    budget.reserve(0.6)
    with pytest.raises(OverBudget):
        budget.reserve(0.6)
    budget.settle(0.6, 0.1)
    budget.reserve(0.6)
    assert (budget.spent, budget.reserved) == (pytest.approx(0.1), pytest.approx(0.6))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=30), st.floats(0, 5))
def test_the_spending_never_exceeds_the_limit(calls: list[tuple[float, float]], limit: float) -> None:
    budget = Budget(max_cost=limit)
    for worst, share in calls:
        try:
            budget.reserve(worst)
        except OverBudget:
            continue
        budget.settle(worst, worst * share)
    assert budget.spent <= limit + 1e-6


def test_prices_are_known_when_anything_has_one() -> None:
    assert not Prices().known
    assert PRICES.known
