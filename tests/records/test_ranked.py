"""Columns of lists: distinct items and their places."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit import EvalRecord, Records

guesses = st.lists(st.sampled_from((None, "", "S1", "S2", "Ｓ1", "S3")), max_size=8)


@settings(deadline=None)
@given(rows=st.lists(guesses, max_size=8))
def test_ranked_is_the_distinct_items_in_order(rows: list[list[str | None]]) -> None:
    """First occurrences only, nulls left out, places from 1, rows in order."""
    table = Records([EvalRecord(sample_id=str(row), intent_pred_all=items) for row, items in enumerate(rows)])
    (column,) = table.lists("intent_pred_all")
    found = column.ranked()
    names = [table.vocabulary[code] for code in found.codes]
    assert list(zip(found.rows.tolist(), names, found.ranks.tolist(), strict=True)) == [
        (row, item, rank)
        for row, items in enumerate(rows)
        for rank, item in enumerate(dict.fromkeys(filter(None, items)), 1)
    ]
