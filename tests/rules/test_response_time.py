"""Response time: score is threshold over latency, and what was not measured is undecided."""

from __future__ import annotations

from typing import Any

import pytest

from evalkit import EvalRecord
from evalkit.contracts import Case, Turn
from evalkit.rules.response_time import response_time


@pytest.mark.parametrize(
    ("latency", "passed", "score"),
    [
        pytest.param(500.0, True, 1.0, id="quick"),
        pytest.param(1000.0, True, 1.0, id="exactly at the limit"),
        pytest.param(1000.1, False, 1000 / 1000.1, id="a little late"),
        pytest.param(2000.0, False, 0.5, id="twice the limit"),
        pytest.param(0.0, True, 1.0, id="at once"),
        pytest.param(None, None, None, id="not measured"),
    ],
)
def test_table(case: Case, latency: float | None, *, passed: bool | None, score: float | None) -> None:
    """DEFINITIONS, section 5: score = min(1, threshold / latency)."""
    verdict = response_time(case, [Turn(reply="好", latency_ms=latency)], max_latency_ms=1000)
    assert (verdict.passed, verdict.score) == (passed, score)


TURNS = [Turn(latency_ms=400), Turn(latency_ms=900), Turn(latency_ms=300)]


@pytest.mark.parametrize(
    ("scope", "limit", "passed"),
    [
        ("last_turn", 300, True),
        ("any_turn", 300, True),
        ("any_turn", 299, False),
        ("every_agent_turn", 899, False),
        ("every_agent_turn", 900, True),
        ("full_dialog", 1600, True),
        ("full_dialog", 1599, False),
    ],
)
def test_scopes(case: Case, scope: Any, limit: float, *, passed: bool) -> None:
    assert response_time(case, TURNS, max_latency_ms=limit, evaluation_scope=scope).passed is passed


@pytest.mark.parametrize(
    ("scope", "limit", "passed"),
    [
        ("every_agent_turn", 1000, None),
        ("every_agent_turn", 300, False),
        ("any_turn", 500, True),
        ("any_turn", 100, None),
        ("full_dialog", 9999, None),
    ],
)
def test_a_turn_without_time_matters_only_where_it_could_decide(
    case: Case, scope: Any, limit: float, *, passed: bool | None
) -> None:
    turns = [Turn(latency_ms=400), Turn(latency_ms=None)]
    assert response_time(case, turns, max_latency_ms=limit, evaluation_scope=scope).passed is passed


def test_first_text_can_be_measured_instead(case: Case) -> None:
    turns = [Turn(latency_ms=4000, ttft_ms=200)]
    assert response_time(case, turns, max_latency_ms=300, measure="ttft_ms").passed is True


@pytest.mark.parametrize("scope", ["last_turn", "any_turn", "every_agent_turn", "full_dialog"])
def test_nothing_said_took_no_time_that_counts(case: Case, scope: Any) -> None:
    assert response_time(case, [], max_latency_ms=300, evaluation_scope=scope).passed is None


def test_a_cached_answer_says_nothing_of_the_time() -> None:
    record = EvalRecord(sample_id="1", from_cache=True)
    assert response_time(record, [Turn(latency_ms=1)], max_latency_ms=300).passed is None
