"""Means by slice: the column form gives what the row form defines, to the last bit, in any order."""

from __future__ import annotations

import functools
import itertools
import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord, MetricResult, Records, Scores, slice_mean
from evalkit.contracts import Mean
from evalkit.slices import Kinds, PerSample, SlicedMeans, Tally, counted_rows, tally

RowScore = Callable[[EvalRecord], "float | None"]


def record(sample: object = "a", **fields: Any) -> EvalRecord:
    return EvalRecord.model_validate({"sample_id": str(sample)} | fields)


def oracle(
    records: Sequence[EvalRecord], score: RowScore, where: Callable[[EvalRecord], bool] = lambda _: True
) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, float | None]]:
    """The definition, row by row: (mean, n_counted, n_total) overall and by label, and each score."""

    def mean(rows: Sequence[EvalRecord]) -> tuple[float, int, int] | None:
        scores = [value for row in rows if where(row) and (value := score(row)) is not None]
        return (math.fsum(scores) / len(scores), len(scores), len(rows)) if scores else None

    def by(name: str) -> dict[str, Any]:
        labels = sorted({getattr(row, name) for row in records if getattr(row, name)})
        return {label: mean([row for row in records if getattr(row, name) == label]) for label in labels}

    each = {row.key: score(row) if where(row) else None for row in records}
    return mean(records), by("intent_l1"), by("intent_l2"), each


def spelt(value: Mean | None) -> tuple[float, int, int] | None:
    return None if value is None else (float(value), value.n_counted, value.n_total)


def spelt_all(means: SlicedMeans) -> tuple[Any, dict[str, Any], dict[str, Any], dict[str, float | None]]:
    def by(slices: Mapping[str, Mean | None]) -> dict[str, Any]:
        return {label: spelt(mean) for label, mean in slices.items()}

    return spelt(means.overall), by(means.by_intent_l1), by(means.by_intent_l2), dict(means.per_sample)


LABELS = st.sampled_from([None, "", "售前", "售后", "S1", "S2"])
NUMBERS = st.none() | st.floats(0, 1e12) | st.sampled_from([0.0, 1.0, 0.1, 0.2, 0.3, 1e-9])


@st.composite
def runs(draw: st.DrawFn) -> list[EvalRecord]:
    """Runs with unlabelled rows, null scores and repeats."""
    rows = draw(st.lists(st.tuples(LABELS, LABELS, NUMBERS, st.booleans(), st.integers(0, 2)), max_size=20))
    return [
        record(n, intent_l1=l1, intent_l2=l2, ttft_ms=ms, requires_rag=rag, repeat=again)
        for n, (l1, l2, ms, rag, again) in enumerate(rows)
    ]


def ttft(row: EvalRecord) -> float | None:
    return row.ttft_ms


@given(runs())
def test_the_column_form_is_the_row_form(rows: list[EvalRecord]) -> None:
    table = Records.of(rows)
    numbers = table.numbers("ttft_ms")
    column = Scores(np.nan_to_num(numbers), ~np.isnan(numbers))
    keep = table.numbers("requires_rag") == 1
    wanted = oracle(rows, ttft)
    narrowed = oracle(rows, ttft, lambda row: row.requires_rag is True)
    assert spelt_all(slice_mean(rows, ttft)) == wanted
    assert spelt_all(slice_mean(table, column)) == wanted
    assert spelt_all(slice_mean(rows, ttft, where=lambda row: row.requires_rag is True)) == narrowed
    assert spelt_all(slice_mean(rows, ttft, where=keep)) == narrowed
    assert spelt_all(slice_mean(table, column, where=lambda row: row.requires_rag is True)) == narrowed
    assert spelt_all(slice_mean(table, column, where=keep)) == narrowed


def test_the_order_of_records_changes_no_bit() -> None:
    """Numbers of very different size, whose naive sum depends on the order."""
    rng = random.Random(7)  # noqa: S311 no secret
    rows = [
        record(n, intent_l2=f"S{n % 3}", ttft_ms=10.0 ** rng.randint(-8, 15) * rng.random())
        for n in range(300)
    ]

    def bits(shuffled: list[EvalRecord]) -> bytes:
        means = slice_mean(shuffled, ttft)
        return b"".join(
            struct.pack("<d", value) for value in (means.overall, *means.by_intent_l2.values()) if value
        )

    first = bits(rows)
    assert len(first) == 4 * 8
    for _ in range(100):
        rng.shuffle(rows)
        assert bits(rows) == first


TEN = [
    ("退换货咨询", "退换货咨询"),
    ("商品详情", "商品详情"),
    ("退换货咨询", "保修维修"),
    ("闲聊", "闲聊"),
    ("选购推荐", "对比选购"),
    ("商品详情", "商品详情"),
    ("退换货咨询", "退换货咨询"),
    ("对比选购", "对比选购"),
    ("闲聊", "闲聊"),
    ("选购推荐", "选购推荐"),
]
"""Ten questions with gold and predicted intents: the worked example of the mission, 8 of 10 right."""


def test_ten_questions_give_eighty_percent_and_the_worst_slices() -> None:
    rows = [record(n, intent_l2=gold, intent_pred=pred) for n, (gold, pred) in enumerate(TEN)]
    result = MetricResult("top1", *slice_mean(rows, lambda row: float(row.intent_pred == row.intent_l2)))
    assert spelt(result.overall) == (0.8, 10, 10)
    assert spelt(result.by_intent_l2["选购推荐"]) == (0.5, 2, 2)
    assert spelt(result.by_intent_l2["退换货咨询"]) == (2 / 3, 3, 3)
    assert result.per_sample["2"] == 0.0
    assert list(result.by_intent_l2) == sorted({gold for gold, _ in TEN})


def test_nothing_counted_is_no_mean() -> None:
    means = slice_mean([record(1, intent_l2="S1"), record(2)], lambda _: None)
    assert means.overall is None
    assert dict(means.by_intent_l2) == {"S1": None}
    assert dict(means.per_sample) == {"1": None, "2": None}


def test_no_records_have_no_mean_and_no_slice() -> None:
    assert spelt_all(slice_mean([], ttft)) == (None, {}, {}, {})


def test_each_repeat_is_a_sample_of_its_own() -> None:
    rows = [record("a", repeat=n, ttft_ms=ms) for n, ms in enumerate([1.0, 2.0, 6.0])]
    means = slice_mean(rows, ttft)
    assert spelt(means.overall) == (3.0, 3, 3)
    assert dict(means.per_sample) == {"a": 1.0, "a#1": 2.0, "a#2": 6.0}


def test_a_record_outside_where_is_not_scored() -> None:
    """A score may rely on what `where` asks for."""
    rows = [record(1, reference_doc_ids=["d"], retrieved_doc_ids=["d"]), record(2)]
    means = slice_mean(
        rows,
        lambda row: len(row.retrieved_doc_ids or ()) / len(row.reference_doc_ids),
        where=lambda row: bool(row.reference_doc_ids),
    )
    assert spelt(means.overall) == (1.0, 1, 2)


def test_flags_are_scores_of_zero_and_one() -> None:
    means = slice_mean(
        [record(1, requires_rag=True), record(2, requires_rag=False)], lambda row: row.requires_rag
    )
    assert spelt(means.overall) == (0.5, 2, 2)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=str)
def test_a_score_that_is_not_finite_is_an_error_that_names_the_sample(value: float) -> None:
    rows = [record(1), record("退货-7")]
    with pytest.raises(
        ValueError, match=rf"found the score {value} of sample '退货-7', wanted a finite number"
    ):
        slice_mean(rows, lambda row: value if row.sample_id != "1" else 1.0)


def test_what_is_not_counted_may_be_anything() -> None:
    scores = Scores(np.array([np.nan, 1.0]), np.array([False, True]))
    assert spelt(slice_mean([record(1), record(2)], scores).overall) == (1.0, 1, 2)


@pytest.mark.parametrize(("values", "marks"), [(1, 1), (3, 3), (2, 3), (3, 2)])
def test_a_column_of_another_length_is_an_error(values: int, marks: int) -> None:
    scores = Scores(np.ones(values), np.ones(marks, dtype=np.bool_))
    with pytest.raises(
        ValueError, match=f"found {values} scores, {marks} marks for 2 records, wanted one each"
    ):
        slice_mean([record(1), record(2)], scores)


def test_where_narrows_a_column_and_leaves_it_as_it_was() -> None:
    scores = Scores(np.ones(2), np.array([True, True]))
    narrowed = scores.where(np.array([True, False]))
    assert narrowed.counted.tolist() == [True, False]
    assert scores.counted.tolist() == [True, True]


def test_slices_by_any_column() -> None:
    rows = [record(1, difficulty="hard", ttft_ms=4), record(2, difficulty="easy"), record(3, ttft_ms=8)]
    sums = tally(Records.of(rows), Scores.of(rows, ttft), by="difficulty")
    assert sums.labels == ("easy", "hard")
    assert sums.n_total.tolist() == [1, 1]
    assert sums.n_counted.tolist() == [0, 1]
    assert np.array_equal(sums.means, [np.nan, 4.0], equal_nan=True)


def test_a_sample_with_two_tags_is_in_two_slices_and_once_in_each() -> None:
    rows = [record(1, tags=["a", "b", "a"], ttft_ms=1), record(2, tags=["b"], ttft_ms=3)]
    sums = tally(Records.of(rows), Scores.of(rows, ttft), by="tags")
    assert (sums.labels, sums.n_total.tolist(), sums.means.tolist()) == (("a", "b"), [1, 2], [1.0, 2.0])


@given(runs(), st.sampled_from([None, "intent_l1", "intent_l2", "tags"]))
def test_the_counted_rows_are_those_of_the_tally(rows: list[EvalRecord], by: str | None) -> None:
    table = Records.of(rows)
    scores = Scores.of(rows, ttft)
    sums = tally(table, scores, by=by)
    for place, found in enumerate(counted_rows(table, scores, by=by)):
        label = sums.labels[place]
        assert len(found) == sums.n_counted[place]
        assert math.fsum(scores.values[found]) == sums.total[place]
        assert all(by is None or getattr(rows[row], by) == label for row in found)
        assert all(scores.counted[row] for row in found)


def test_the_answers_are_mappings_like_any_other() -> None:
    means = slice_mean([record(1, intent_l2="S1", ttft_ms=2), record(2, ttft_ms=3)], ttft)
    assert repr(means.by_intent_l2) == "{'S1': 2.0}"
    assert len(means.by_intent_l2) == 1
    assert means.by_intent_l2 == {"S1": 2.0}
    assert means.per_sample == {"1": 2.0, "2": 3.0}
    assert len(means.per_sample) == 2
    with pytest.raises(KeyError):
        means.by_intent_l2["S2"]
    with pytest.raises(KeyError):
        means.per_sample["3"]


def test_scores_under_one_key_twice_are_one_sample_with_the_last() -> None:
    each = PerSample(["a", "a"], Scores(np.array([1.0, 2.0]), np.array([True, True])))
    assert dict(each) == {"a": 2.0}
    assert len(each) == 1


MASKS = [
    pytest.param(np.array([1, 0, 1]), id="integers"),
    pytest.param(np.array([1, 0, 1], dtype=np.uint8), id="bytes"),
    pytest.param([True, False, True], id="list"),
    pytest.param([1, 0, 1], id="list of integers"),
    pytest.param(np.array([True, False, True], dtype=object), id="objects"),
]


@pytest.mark.parametrize("mask", MASKS)
def test_marks_of_0_and_1_are_no_indices(mask: Any) -> None:
    """1 and 2 of 0, 1, 2 are the scores of the marked rows: mean 1, not the mean of the rows 1, 0, 1."""
    rows, values = [record(1), record(2), record(3)], np.array([0.0, 1.0, 2.0])
    for means in (
        slice_mean(rows, lambda row: float(row.sample_id) - 1, where=mask),
        slice_mean(rows, Scores(values, np.ones(3, dtype=np.bool_)), where=mask),
        slice_mean(rows, Scores(values, mask)),
    ):
        assert spelt(means.overall) == (1.0, 2, 3)
        assert dict(means.per_sample) == {"1": 0.0, "2": None, "3": 2.0}


@pytest.mark.parametrize(
    "mask",
    [
        pytest.param(np.array([0, 2, 1]), id="indices"),
        pytest.param(np.array([0, -1, 1]), id="negative"),
        pytest.param(np.array([1.0, 0.0, 1.0]), id="fractions"),
        pytest.param(["a", "", "b"], id="texts"),
        pytest.param([True, None, False], id="null"),
        pytest.param([True, False], id="short"),
        pytest.param([True] * 4, id="long"),
        pytest.param([[True, False, True]], id="two dimensions"),
    ],
)
def test_marks_that_are_neither_true_nor_false_are_an_error(mask: Any) -> None:
    rows = [record(1), record(2), record(3)]
    for score in (lambda _: 1.0, Scores(np.ones(3), np.ones(3, dtype=np.bool_))):
        with pytest.raises(ValueError, match="wanted"):
            slice_mean(rows, score, where=mask)
    with pytest.raises(ValueError, match="wanted"):
        slice_mean(rows, Scores(np.ones(3), mask))


FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e150, max_value=1e150)
CELLS = st.tuples(
    st.sampled_from(["a", "b", None]), st.none() | FLOATS | st.sampled_from([0.1, 1 / 3, 5e-324])
)


def as_tally(cells: Sequence[tuple[str | None, float | None]], by: str | None) -> Tally:
    table = Records([record(n, difficulty=label) for n, (label, _) in enumerate(cells)])
    values = np.array([math.nan if value is None else value for _, value in cells])
    return tally(table, Scores(values, ~np.isnan(values)), by=by, squared=True)


@given(st.lists(CELLS, max_size=30), st.lists(st.integers(0, 30)), st.randoms(use_true_random=False))
def test_batches_add_up_to_the_same_bits(
    cells: list[tuple[str | None, float | None]], cuts: list[int], order: random.Random
) -> None:
    """Any split of the records in any order, from the smallest float to squares near the largest."""
    mixed = order.sample(cells, len(cells))
    ends = sorted({0, len(mixed), *(cut for cut in cuts if cut < len(mixed))})
    parts = [mixed[start:end] for start, end in itertools.pairwise(ends)] or [[]]
    order.shuffle(parts)
    for by in ("difficulty", None):
        whole = as_tally(cells, by)
        added = functools.reduce(Tally.plus, [as_tally(part, by) for part in parts])
        assert (added.labels, list(added.sums), added.squares) == (whole.labels, whole.sums, whole.squares)
        assert added.total.tobytes() == whole.total.tobytes()
        assert (added.n_total.tolist(), added.n_counted.tolist()) == (
            whole.n_total.tolist(),
            whole.n_counted.tolist(),
        )
        for place, label in enumerate(whole.labels):
            values = [v for name, v in cells if v is not None and (by is None or name == label)]
            assert whole.total[place] == math.fsum(values)
            assert whole.deviations[place] == float(deviations(values))


def deviations(values: Sequence[float]) -> Fraction:
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction()) / max(len(exact), 1)
    return sum(((value - mean) ** 2 for value in exact), Fraction())


def test_squares_that_were_not_summed_are_not_zero() -> None:
    table = Records([record(1)])
    one = tally(table, Scores(np.ones(1), np.array([True])))
    with pytest.raises(TypeError, match="squared=True"):
        _ = one.deviations
    assert one.plus(tally(table, Scores(np.ones(1), np.array([True])), squared=True)).squares is None


@given(st.lists(st.tuples(st.integers(0, 4), LABELS), max_size=20), st.sampled_from([None, "intent_l1"]))
def test_scores_by_kind_are_scores_by_row(rows: list[tuple[int, str | None]], by: str | None) -> None:
    """A family's kinds are counted once for all its columns, and give what each column gives alone."""
    table = Records([record(n, intent_l1=label) for n, (_, label) in enumerate(rows)])
    kinds = Kinds(np.array([kind for kind, _ in rows], dtype=np.int32), 5)
    for values in (np.array([0.0, 1.0, 0.1, 1 / 3, np.nan]), np.array([7.0, 1e-300, 1e12, 0.5, np.inf])):
        few = Scores(values, np.array([True, True, True, True, False]), kinds)
        plain = Scores(few.values, few.counted)
        one, other = (tally(table, scores, by=by, squared=True) for scores in (few, plain))
        assert (one.sums, one.squares, one.n_counted.tolist()) == (
            other.sums,
            other.squares,
            other.n_counted.tolist(),
        )
        assert spelt_all(slice_mean(table, few)) == spelt_all(slice_mean(table, plain))
        keep = np.arange(len(rows)) % 2 == 0
        assert spelt_all(slice_mean(table, few, where=keep)) == spelt_all(
            slice_mean(table, plain, where=keep)
        )


@given(
    st.lists(st.tuples(*[st.sampled_from((0, 1, 2, 2**40, 2**61))] * 3), max_size=20),
)
def test_rows_that_agree_are_of_one_kind(rows: list[tuple[int, int, int]]) -> None:
    """However large the numbers are: a kind for each distinct row, and the row that is said to be of it."""
    kinds, first = Kinds.alike(list(np.array(rows, dtype=np.int64).reshape(-1, 3).T))
    assert kinds.size == len(first) == len(set(rows))
    assert [rows[first[code]] for code in kinds.codes.tolist()] == rows


def test_a_kind_that_is_not_finite_is_an_error_only_where_it_occurs() -> None:
    rows = [record(1), record("退货-7")]
    values, counted = np.array([1.0, math.inf]), np.array([True, True])
    assert spelt(slice_mean(rows, Scores(values, counted, Kinds(np.zeros(2, np.int8), 2))).overall) == (
        1,
        2,
        2,
    )
    with pytest.raises(ValueError, match="the score inf of sample '退货-7'"):
        slice_mean(rows, Scores(values, counted, Kinds(np.arange(2), 2)))


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=12))
def test_flags_are_a_column_of_zeros_and_ones(rows: list[tuple[bool, bool]]) -> None:
    holds, counted = np.array(rows, dtype=np.bool_).reshape(len(rows), 2).T
    table = Records([record(n) for n in range(len(rows))])
    plain = Scores(holds.astype(np.float64), counted)
    assert spelt_all(slice_mean(table, Scores.flags(holds, counted))) == spelt_all(slice_mean(table, plain))
