"""The worst slices first, with the direction of their errors and what there is to win."""

from __future__ import annotations

import pytest

from evalkit.contracts import EvalRecord
from evalkit.errors import UnknownName
from evalkit.report.digest import Digest
from evalkit.report.tree import tree
from evalkit.report.worst import Direction, WorstRow, worst


def ranked(digest: Digest, *, by: str = "intent_l2", metric: str = "intent_top1") -> list[WorstRow]:
    return worst(digest.tables.slices, digest.tables.confusions, by=by, metric=metric)


def test_ten_questions(make_digest, ten_questions: list[EvalRecord]) -> None:
    """The worked example of intent accuracy: 80 % overall, S3 50.0 % (1 of 2), S14 66.7 % (2 of 3)."""
    digest = make_digest(ten_questions)
    rows = [(row.figure.slice, row.figure.value, row.figure.counted, row.direction) for row in ranked(digest)]
    assert digest.overall[0].value == "80.0%"
    assert rows[:2] == [
        ("S3", "50.0%", "2/2", Direction("S1", 1, 1)),
        ("S14", "66.7%", "3/3", Direction("S15", 1, 1)),
    ]
    assert [value for _, value, _, _ in rows[2:]] == ["100.0%"] * 3


def test_what_there_is_to_win_adds_up(make_digest, rich_run: list[EvalRecord]) -> None:
    """The errors of all intents mended, the mean over the labelled samples is 1."""
    digest = make_digest(rich_run)
    overall = digest.overall[0].mean
    assert overall is not None
    assert sum(row.recoverable or 0 for row in ranked(digest)) == pytest.approx(1 - overall)


def test_equally_bad_slices_stand_by_size_then_name(make_digest) -> None:
    labels = ["B", "B", "A", "C"]
    records = [EvalRecord(sample_id=str(row), intent_l2=label) for row, label in enumerate(labels)]
    assert [row.figure.slice for row in ranked(make_digest(records))] == ["B", "A", "C"]


def test_slices_without_a_counted_sample_stand_last(make_digest) -> None:
    records = [
        EvalRecord(sample_id="1", intent_l2="A", evidence_status="error"),
        EvalRecord(sample_id="2", intent_l2="B", intent_pred="B"),
    ]
    assert [(row.figure.slice, row.figure.value) for row in ranked(make_digest(records))] == [
        ("B", "100.0%"),
        ("A", "–"),
    ]


def test_lower_is_better_turns_the_ranking(make_digest) -> None:
    records = [
        EvalRecord(sample_id="1", intent_l2="A", requires_rag=False, retrieved_doc_ids=[]),
        EvalRecord(sample_id="2", intent_l2="B", requires_rag=False, retrieved_doc_ids=["D"]),
    ]
    rows = ranked(make_digest(records), metric="over_retrieval")
    assert [(row.figure.slice, row.recoverable) for row in rows] == [("B", 0.5), ("A", 0.0)]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"metric": "intent_top"}, "unknown metric 'intent_top'"),
        ({"by": "colour"}, "unknown dimension 'colour'"),
    ],
    ids=["metric", "dimension"],
)
def test_unknown_names_are_refused(make_digest, choice: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        ranked(make_digest([EvalRecord(sample_id="1", intent_l2="A")]), **choice)


def test_the_direction_is_that_of_most_errors(make_digest) -> None:
    given = ["B", "C", "C", None, "A"]
    records = [
        EvalRecord(sample_id=str(row), intent_l2="A", intent_pred=label) for row, label in enumerate(given)
    ]
    (row,) = ranked(make_digest(records))
    assert row.direction == Direction("C", 2, 4)
    assert row.direction.portion == "2 of 4"


def test_no_intent_given_is_a_direction_too(make_digest) -> None:
    (row,) = ranked(make_digest([EvalRecord(sample_id="1", intent_l2="A")]))
    assert row.direction == Direction(None, 1, 1)


def test_tree_has_each_intent_once_most_to_win_first(make_digest, ten_questions: list[EvalRecord]) -> None:
    branches = tree(make_digest(ten_questions))
    shape = [
        (
            branch.top.row.figure.slice if branch.top else None,
            [leaf.row.figure.slice for leaf in branch.leaves],
        )
        for branch in branches
    ]
    assert shape == [("S", ["S3", "S14", "S1", "S2"]), ("C", ["C1"])]
    assert [leaf.failed for leaf in branches[0].leaves] == [1, 1, 0, 0]


def test_an_intent_under_two_is_put_where_it_is_most_often(make_digest) -> None:
    above = ["X", "Y", "Y", None]
    records = [
        EvalRecord(sample_id=str(row), intent_l1=label, intent_l2="A", intent_pred="A")
        for row, label in enumerate(above)
    ]
    shape = {
        branch.top.row.figure.slice: len(branch.leaves) for branch in tree(make_digest(records)) if branch.top
    }
    assert shape == {"X": 0, "Y": 1}


def test_intents_under_none_stand_under_none(make_digest) -> None:
    (branch,) = tree(make_digest([EvalRecord(sample_id="1", intent_l2="A")]))
    assert branch.top is None
    assert [leaf.row.figure.slice for leaf in branch.leaves] == ["A"]


def test_no_label_no_tree(make_digest) -> None:
    assert tree(make_digest([EvalRecord(sample_id="1")])) == []
