"""Filters first, then start, then limit; what cannot mean anything is refused."""

from __future__ import annotations

import pytest

from evalkit.contracts import Case
from evalkit.errors import NoInput, UsageError
from evalkit.runner import select

CASES = [
    Case(sample_id="1", intent_l1="support", intent_l2="退货", tags=("smoke", "zh"), requires_rag=True),
    Case(sample_id="2", intent_l1="support", intent_l2="保修", tags=("zh",), requires_rag=False),
    Case.model_validate({"sample_id": "3", "intent_l1": "feedback", "difficulty": "hard", "channel": "app"}),
    Case(sample_id="4", intent_l1="support", intent_l2="退货", expected_turns=3),
]


@pytest.mark.parametrize(
    ("keep", "wanted"),
    [
        pytest.param([], "1234", id="no filter"),
        pytest.param(["intent_l1=support"], "124", id="equal"),
        pytest.param(["intent_l2=退货"], "14", id="Chinese"),
        pytest.param(["intent_l2=退货", "intent_l2=保修"], "124", id="one field twice: any"),
        pytest.param(["intent_l1=support", "tags=smoke"], "1", id="two fields: all"),
        pytest.param(["tags=zh"], "12", id="member of a list"),
        pytest.param(["tags="], "34", id="an empty list"),
        pytest.param(["requires_rag=true"], "1", id="flag set"),
        pytest.param(["requires_rag=false"], "2", id="flag not set is not a flag not given"),
        pytest.param(["requires_rag="], "34", id="flag not given"),
        pytest.param(["expected_turns=3"], "4", id="number"),
        pytest.param(["channel=app"], "3", id="a field of one's own"),
        pytest.param(["sample_id=2"], "2", id="one sample"),
    ],
)
def test_filters(keep: list[str], wanted: str) -> None:
    assert "".join(case.sample_id for case in select(CASES, keep=keep)) == wanted


@pytest.mark.parametrize(
    ("start", "limit", "wanted"),
    [(0, None, "124"), (1, None, "24"), (0, 2, "12"), (1, 1, "2"), (2, 9, "4")],
)
def test_start_and_limit_page_through_what_passes(start: int, limit: int | None, wanted: str) -> None:
    chosen = select(CASES, start=start, limit=limit, keep=["intent_l1=support"])
    assert "".join(case.sample_id for case in chosen) == wanted


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        pytest.param(["intent_l3=x"], "Did you mean 'intent_l", id="unknown field"),
        pytest.param(["smoke"], "wanted FIELD=VALUE", id="no value"),
    ],
)
def test_a_filter_that_cannot_mean_anything_is_refused(keep: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        select(CASES, keep=keep)


@pytest.mark.parametrize(("start", "limit"), [(-1, None), (0, 0), (0, -3)])
def test_start_and_limit_out_of_range_are_refused(start: int, limit: int | None) -> None:
    with pytest.raises(UsageError, match="wanted --start from 0"):
        select(CASES, start=start, limit=limit)


@pytest.mark.parametrize(("start", "keep"), [(0, ["intent_l1=nobody"]), (4, [])])
def test_nothing_selected_is_no_input(start: int, keep: list[str]) -> None:
    with pytest.raises(NoInput, match="among 4") as caught:
        select(CASES, start=start, keep=keep)
    assert caught.value.exit_code == 66


def test_no_case_to_select_from_is_no_input() -> None:
    with pytest.raises(NoInput, match="among 0"):
        select([])
