"""Rows that lose something, added up part by part: the urn that all of them at once would give."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.lots import ALONE, AtRisk, Lots, numbered, total, urn
from evalkit.stats import interval_of, mean_interval, urn_of

ROWS = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([0.0, 0.5, 1 / 3, 1.0]), st.booleans()),
    min_size=1,
    max_size=20,
)


def parts(rows: list[tuple[int, float, bool]], size: int) -> tuple[AtRisk, Lots, Lots]:
    """Rows of a cluster, with a loss, at risk or not; who is not and loses nothing is nobody's."""
    clusters = numbered(np.array([cluster for cluster, _, _ in rows]))
    losses, risk = np.array([loss for _, loss, _ in rows]), np.array([at_risk for _, _, at_risk in rows])
    inside, outside = Lots(), Lots()
    for start in range(0, len(rows), size):
        mine = np.arange(start, min(start + size, len(rows)))
        lost, there = mine[losses[mine] > 0], risk[mine[losses[mine] > 0]]
        inside = inside.plus(Lots.of(losses[lost[there]], clusters[lost[there]]))
        outside = outside.plus(Lots.of(losses[lost[~there]], clusters[lost[~there]]))
    alone = clusters == ALONE
    return AtRisk(int((risk & alone).sum()), clusters[risk & ~alone]), inside, outside


@given(ROWS, st.integers(1, 20))
def test_the_urn_is_that_of_all_rows_at_once(rows: list[tuple[int, float, bool]], size: int) -> None:
    """By the other way: each row's loss, and its cluster."""
    found = urn(*parts(rows, size))
    drawn = [(cluster, loss) for cluster, loss, at_risk in rows if at_risk or loss > 0]
    wanted = urn_of([loss for _, loss in drawn], [cluster for cluster, _ in drawn])
    np.testing.assert_allclose(found.sums, wanted.sums, atol=1e-12)
    assert (found.sizes.tolist(), found.counts.tolist()) == (wanted.sizes.tolist(), wanted.counts.tolist())


@given(ROWS, st.integers(1, 20))
def test_the_parts_change_no_bit(rows: list[tuple[int, float, bool]], size: int) -> None:
    whole, parted = urn(*parts(rows, len(rows))), urn(*parts(rows, size))
    assert [column.tobytes() for column in whole] == [column.tobytes() for column in parted]
    _, inside, outside = parts(rows, size)
    assert total(inside, outside) == math.fsum(loss for _, loss, _ in rows)


def test_rows_at_risk_without_those_of_a_word() -> None:
    every, some = AtRisk(5, np.array([3, 3, 7, 7, 7])), AtRisk(2, np.array([3, 7, 7]))
    left = every.less(some)
    assert (left.alone, left.clusters.tolist(), left.n) == (3, [3, 7], 5)


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2, 3]])
def test_an_interval_of_an_urn_is_that_of_its_values(clusters: list[int] | None) -> None:
    values = [0.0, 0.5, 1.0, 1.0, 0.25, 0.0]
    drawn = urn_of(values, clusters)
    assert interval_of(drawn, is_rate=False, proper=True) == mean_interval(
        values, is_rate=False, clusters=clusters
    )
    assert (drawn.n, drawn.n_values) == (len(set(clusters or range(6))), 6)
    assert drawn.mean == pytest.approx(sum(values) / 6)
