"""Which cases to write next: enough for the width, and where intents are confused first."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.cases import Intent, Taxonomy
from evalkit.contracts import Case, EvalRecord
from evalkit.errors import UsageError
from evalkit.planning import cases_for_width
from evalkit.report.plan import Border, plan_of_cases, plan_of_run
from evalkit.stats import wilson


def records(counts: dict[tuple[str, str], int]) -> list[EvalRecord]:
    """So many samples of a gold label taken for another."""
    return [
        EvalRecord(
            sample_id=f"{gold}-{given}-{n}",
            query=f"{gold}{n}",
            intent_l1=gold[0],
            intent_l2=gold,
            intent_pred=given,
        )
        for (gold, given), size in counts.items()
        for n in range(size)
    ]


def plan(make_digest, counts: dict[tuple[str, str], int], **kw):
    return plan_of_run(make_digest(records(counts)).tables.samples.to_pandas(), **kw)


def test_a_row_says_what_is_there_and_what_is_wanted(make_digest) -> None:
    """8 of 10: Wilson's centre is 0.7167, its width 0.4531; a width of 0.2 takes 76 cases at that rate."""
    (row,) = plan(make_digest, {("A", "A"): 8, ("A", "B"): 2}).rows
    low, high = map(float, wilson(8, 10))
    assert (row.cases, row.right, row.rate) == (10, 8, pytest.approx((low + high) / 2))
    assert row.width == pytest.approx(0.4531, abs=1e-4)
    assert row.wanted == cases_for_width(row.rate, 0.2)
    assert row.missing == row.wanted - 10
    assert (row.neighbour, row.confused) == ("B", 2)


def test_three_of_three_is_not_planned_as_if_it_were_always_right(make_digest) -> None:
    (row,) = plan(make_digest, {("A", "A"): 3}).rows
    assert row.rate < 0.75
    assert row.wanted > cases_for_width(1.0, 0.2)


def test_confused_intents_stand_first(make_digest) -> None:
    found = plan(
        make_digest,
        {("A", "A"): 30, ("B", "B"): 10, ("B", "C"): 4, ("C", "C"): 20, ("D", "D"): 2, ("D", "A"): 1},
    )
    assert [row.intent_l2 for row in found.rows] == ["B", "C", "D", "A"]
    assert found.borders == (Border("B", "C", 4),)


def test_repeats_are_one_case(make_digest) -> None:
    once = records({("A", "A"): 4})
    often = [record.model_copy(update={"repeat": n}) for record in once for n in range(5)]
    (row,) = plan_of_run(make_digest(often).tables.samples.to_pandas()).rows
    assert (row.cases, row.right) == (4, 4)


def test_an_eval_set_that_was_never_run_is_planned_at_a_half() -> None:
    cases = [Case(sample_id=str(n), query=f"问题{n}", intent_l2="A") for n in range(10)]
    (row,) = plan_of_cases(cases).rows
    assert (row.cases, row.right, row.rate, row.wanted) == (10, None, 0.5, 93)


def test_intents_border_where_their_questions_read_alike() -> None:
    cases = [
        Case(sample_id="1", query="耳机拆封以后还能退货吗", intent_l2="退货"),
        Case(sample_id="2", query="耳机拆封以后还能换货吗", intent_l2="换货"),
        Case(sample_id="3", query="今天天气怎么样", intent_l2="闲聊"),
    ]
    found = plan_of_cases(cases)
    assert [{*border[:2]} for border in found.borders] == [{"退货", "换货"}]
    assert {row.intent_l2 for row in found.rows[:2]} == {"退货", "换货"}


def test_intents_without_a_case_are_in_the_plan(make_digest) -> None:
    taxonomy = Taxonomy((Intent(intent_l1="A", intent_l2="A1"), Intent(intent_l1="Z", intent_l2="Z1")))
    rows = {row.intent_l2: row for row in plan(make_digest, {("A1", "A1"): 3}, taxonomy=taxonomy).rows}
    assert (rows["Z1"].intent_l1, rows["Z1"].cases, rows["Z1"].missing, rows["Z1"].detectable) == (
        "Z",
        0,
        93,
        None,
    )


@given(st.integers(1, 40), st.floats(0.05, 0.9))
def test_the_wanted_cases_make_the_width(right: int, width: float) -> None:
    cases = [Case(sample_id=str(n), query=str(n), intent_l2="A") for n in range(right)]
    (row,) = plan_of_cases(cases, width=width).rows
    interval = wilson(row.rate * row.wanted, row.wanted)
    assert float(interval.high - interval.low) <= width


@pytest.mark.parametrize("width", [0.0, 1.0, -1.0])
def test_a_width_must_be_one(width: float) -> None:
    with pytest.raises(UsageError, match="width"):
        plan_of_cases([], width=width)


def test_nothing_to_plan() -> None:
    found = plan_of_cases([])
    assert (found.rows, found.missing, found.detectable) == ((), 0, None)


def test_few_cases_show_no_difference(make_digest) -> None:
    """Two runs of five cases cannot differ at 5 %: six must move."""
    (row,) = plan(make_digest, {("A", "A"): 5}).rows
    assert row.detectable is None


def test_the_shipped_set_has_a_plan() -> None:
    from evalkit.cases import load_cases

    cases = load_cases(Path(__file__).parents[2] / "eval_sets" / "eval_set_v1_all.jsonl")
    found = plan_of_cases(cases)
    assert found.cases == len(cases)
    assert all(row.wanted == 93 for row in found.rows)
