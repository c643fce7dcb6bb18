"""Similarity: the cosine of the embedding that is handed in."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from evalkit.contracts import Case, Turn, Verdict
from evalkit.rules.semantic_similarity import semantic_similarity

from .conftest import dialog, embedding, reply


def judged(case: Case, said: list[Turn], vectors: dict[str, list[float]], **params: Any) -> Verdict:
    return asyncio.run(semantic_similarity(case, said, embed=embedding(vectors), **params))


@pytest.mark.parametrize(
    ("vector", "score", "passed"),
    [
        pytest.param([2.0, 0.0], 1.0, True, id="same direction"),
        pytest.param([0.0, 1.0], 0.0, False, id="right angle"),
        pytest.param([-1.0, 0.0], 0.0, False, id="opposite is no less than nothing"),
        pytest.param([0.7, math.sqrt(1 - 0.49)], 0.7, True, id="exactly at the threshold"),
        pytest.param([0.69, math.sqrt(1 - 0.69**2)], 0.69, False, id="under the threshold"),
        pytest.param([0.0, 0.0], None, None, id="no direction"),
        pytest.param([math.nan, 1.0], None, None, id="not a number"),
        pytest.param([math.inf, 1.0], None, None, id="not finite"),
    ],
)
def test_table(vector: list[float], score: float | None, *, passed: bool | None) -> None:
    """DEFINITIONS, section 5: cosine of embeddings, threshold 0.7."""
    case = Case(sample_id="1", reference="可以退")
    verdict = judged(case, reply("能退"), {"可以退": [1.0, 0.0], "能退": vector})
    assert verdict.passed is passed
    assert verdict.score == (score if score is None else pytest.approx(score))


def test_a_given_reference_wins_over_that_of_the_case() -> None:
    case = Case(sample_id="1", reference="甲")
    vectors = {"甲": [1.0, 0.0], "乙": [0.0, 1.0], "能退": [0.0, 2.0]}
    assert judged(case, reply("能退"), vectors, reference="乙").passed is True
    assert judged(case, reply("能退"), vectors).passed is False


def test_without_a_reference_it_is_undecided(case: Case) -> None:
    assert judged(case, reply("能退"), {}).passed is None


@pytest.mark.parametrize(
    ("scope", "passed"),
    [("last_turn", False), ("any_turn", True), ("every_agent_turn", False), ("full_dialog", True)],
)
def test_scopes(scope: Any, *, passed: bool) -> None:
    said = dialog(("甲", "能退"), ("乙", "再见"))
    vectors = {"可以退": [1.0, 0.0], "能退": [1.0, 0.0], "再见": [0.0, 1.0], "能退\n再见": [1.0, 0.0]}
    case = Case(sample_id="1", reference="可以退")
    assert judged(case, said, vectors, evaluation_scope=scope).passed is passed
