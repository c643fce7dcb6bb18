"""The tree of intents: every number again from samples.parquet, in a few lines of pandas."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binomtest, false_discovery_control, fisher_exact

from evalkit.contracts import EvalRecord
from evalkit.errors import UnknownName, UsageError
from evalkit.report.digest import Digest
from evalkit.report.directions import ranked_directions
from evalkit.report.excess import Excess, excess
from evalkit.report.fix_first import fix_first
from evalkit.report.intent_tree import TreeRow, intent_tree
from evalkit.report.parquet import write


def from_file(digest: Digest) -> pd.DataFrame:
    """The samples table as anybody reads it."""
    samples = digest.tables.samples
    with tempfile.TemporaryDirectory() as folder:
        write([samples], path := Path(folder) / "samples.parquet", schema=samples.schema)
        return pd.read_parquet(path)


def spread(counts: dict[str, tuple[int, int]]) -> list[EvalRecord]:
    """Labels with so many of so many samples taken for X."""
    return [
        EvalRecord(
            sample_id=f"{label}-{row}",
            query=f"{label} 问题 {row}",
            intent_l1=label[0],
            intent_l2=label,
            intent_pred="X" if row < wrong else label,
        )
        for label, (wrong, n) in counts.items()
        for row in range(n)
    ]


def test_every_number_is_had_again_from_the_samples(make_digest) -> None:
    """Points, interval, p and q of each leaf, by pandas and scipy alone."""
    digest = make_digest(spread({"A1": (5, 12), "A2": (1, 2), "B1": (0, 9), "B2": (3, 30)}))
    samples = from_file(digest).dropna(subset="intent_top1")
    wrong = (1 - samples.intent_top1).groupby(samples.intent_l2).agg(["sum", "count"])
    n, errors = len(samples), wrong["sum"].sum()
    p = {
        label: fisher_exact([[k, m - k], [errors - k, n - m - (errors - k)]], alternative="greater").pvalue
        for label, (k, m) in wrong.astype(int).iterrows()
    }
    q = dict(zip(p, false_discovery_control(list(p.values())), strict=True))
    for row in intent_tree(digest, metric="intent_top1").leaves:
        k, m = map(int, wrong.loc[row.label])
        interval = binomtest(k, m).proportion_ci(method="wilson")
        assert row.gain.value == pytest.approx(k / n)
        assert (row.gain.low, row.gain.high) == pytest.approx((interval.low * m / n, interval.high * m / n))
        assert (row.n_counted, row.errors, row.mean) == (m, k, (m - k) / m)
        assert (row.p, row.q) == pytest.approx((p[row.label], q[row.label]))
        error = samples.intent_top1.std(ddof=0) * (1 / m + 1 / (n - m)) ** 0.5
        above = k / m - (errors - k) / (n - m)
        assert row.excess.sigmas == pytest.approx(above / error)
        assert row.excess.points == pytest.approx(max(0, above - 3 * error) * m / n)


def test_recoverable_points_add_up_to_what_is_missing(make_digest, rich_run: list[EvalRecord]) -> None:
    tree = intent_tree(make_digest(rich_run), metric="intent_top1")
    assert tree.mean is not None
    assert sum(row.gain.value for row in tree.leaves) == pytest.approx(1 - tree.mean)
    assert sum(row.gain.value for row in tree.tops) == pytest.approx(1 - tree.mean)


def test_rows_as_good_as_the_rest_stand_by_the_lower_bound_of_what_they_win(
    make_digest, rich_run: list[EvalRecord]
) -> None:
    tree = intent_tree(make_digest(rich_run), metric="intent_top1")
    lows = [row.gain.low or 0 for row in tree.leaves if (row.excess.sigmas or 0) < 2]
    assert lows == sorted(lows, reverse=True)
    assert lows


def test_a_small_broken_row_stands_before_a_large_one_that_is_as_good_as_any(make_digest) -> None:
    """3 of 3 wrong against 6 of 60 where all others err 1 in 10: the large one has more to win, and nothing wrong."""
    others = {f"B{n}": (2, 20) for n in range(10)}
    tree = intent_tree(make_digest(spread({"A1": (3, 3), "A2": (6, 60), **others})), metric="intent_top1")
    small, large = (row for row in tree.leaves if row.label.startswith("A"))
    assert (small.label, large.label) == ("A1", "A2")
    assert (small.gain.low or 0) < (large.gain.low or 0)
    assert small.excess.points > 0
    assert large.excess.points == 0


def test_of_two_broken_rows_the_one_with_more_beyond_chance_stands_first(make_digest) -> None:
    """40 of 200 wrong where others err 1 in 20: less sure than 6 of 6, and far more to win."""
    others = {f"B{n}": (1, 20) for n in range(20)}
    tree = intent_tree(make_digest(spread({"A1": (6, 6), "A2": (40, 200), **others})), metric="intent_top1")
    assert [row.label for row in tree.leaves[:2]] == ["A2", "A1"]
    assert (tree.leaves[0].excess.sigmas or 0) < (tree.leaves[1].excess.sigmas or 0)


@pytest.mark.parametrize(
    ("part", "rest", "found"),
    [
        ([], [1.0], Excess(0.0, None)),
        ([1.0], [], Excess(0.0, None)),
        ([0.0] * 3, [0.0] * 4, Excess(0.0, 0.0)),
        ([0.5] * 3, [0.5] * 4, Excess(0.0, 0.0)),
        ([0.0] * 5, [1.0] * 5, Excess(0.0, -1 / (0.5 * 0.4**0.5))),
    ],
    ids=["nobody", "no rest", "no losses", "all alike", "better"],
)
def test_excess_by_hand(part: list[float], rest: list[float], found: Excess) -> None:
    seen = excess(np.array(part), np.array(rest), share=0.5)
    assert seen == pytest.approx(found) if found.sigmas else seen == found


def test_one_of_two_stands_below_forty_of_a_hundred(make_digest) -> None:
    tree = intent_tree(make_digest(spread({"A1": (1, 2), "A2": (40, 100)})), metric="intent_top1")
    assert [row.label for row in tree.leaves] == ["A2", "A1"]


def row_of(digest: Digest, label: str, metric: str = "intent_top1") -> TreeRow:
    return next(row for row in intent_tree(digest, metric=metric).leaves if row.label == label)


def test_a_row_tells_where_most_of_its_errors_go(make_digest) -> None:
    given = ["B", "B", "B", "C", None, "A"]
    records = [
        EvalRecord(sample_id=str(n), query=str(n), intent_l1="L", intent_l2="A", intent_pred=label)
        for n, label in enumerate(given)
    ]
    digest = make_digest(records)
    row = row_of(digest, "A")
    assert row.direction is not None
    assert (row.direction.predicted, row.direction.n, row.direction_share) == ("B", 3, 3 / 5)
    (top,) = intent_tree(digest, metric="intent_top1").tops
    assert top.direction == row.direction


def test_what_is_not_counted_is_not_lost(make_digest) -> None:
    """A failed evidence channel is no wrong intent: coverage falls, points do not rise."""
    records = spread({"A1": (1, 4)})
    broken = records[0].model_copy(update={"evidence_status": "error", "sample_id": "x"})
    row = row_of(make_digest([*records, broken]), "A1")
    assert (row.n_total, row.n_counted, row.errors, row.coverage) == (5, 4, 1, 0.8)


def test_repeats_are_one_case_to_the_test(make_digest) -> None:
    """Asked five times each, the cases of a slice say no more against chance than asked once."""
    once = spread({"A1": (2, 3), "B1": (1, 6)})
    often = [record.model_copy(update={"repeat": n}) for record in once for n in range(5)]
    assert row_of(make_digest(often), "A1").p == row_of(make_digest(once), "A1").p


def test_a_metric_where_less_is_better_loses_what_it_has(make_digest) -> None:
    records = [
        EvalRecord(
            sample_id=str(n), query="q", intent_l2="A", requires_rag=False, retrieved_doc_ids=["D"] * (n < 2)
        )
        for n in range(5)
    ]
    row = row_of(make_digest(records), "A", "over_retrieval")
    assert (row.errors, row.mean, row.gain.value) == (2, 0.4, 0.4)


def test_metrics_that_cannot_be_won_back_are_refused(make_digest, rich_run: list[EvalRecord]) -> None:
    digest = make_digest(rich_run)
    with pytest.raises(UnknownName):
        intent_tree(digest, metric="no_such_metric")
    with pytest.raises(UsageError, match="outside 0–1"):
        intent_tree(digest, metric="ttft_ms")


def test_a_run_without_labels_has_no_rows(make_digest) -> None:
    found = fix_first(make_digest([EvalRecord(sample_id="1", query="q")]))
    assert found.directions == ()
    assert found.suggestions == ()
    assert found.tree is None or found.tree.leaves == []


def test_directions_are_counterfactuals_with_questions(make_digest) -> None:
    """S3→S1 of 3 in a run of 10: 30 points, the interval that of 3 of 4, and three questions to look at."""
    given = ["S1", "S1", "S1", "S3"] + ["S2"] * 6
    records = [
        EvalRecord(sample_id=f"q{n}", query=f"问题{n}", intent_l2="S3" if n < 4 else "S2", intent_pred=label)
        for n, label in enumerate(given)
    ]
    (way,) = ranked_directions(from_file(make_digest(records)))
    assert (way.gold, way.predicted, way.n, way.gold_n, way.share) == ("S3", "S1", 3, 4, 1.0)
    assert way.told == "if S3 → S1 were fixed: +30.0 points (12.0–38.2)"
    assert [(each.key, each.query) for each in way.examples] == [
        ("q0", "问题0"),
        ("q1", "问题1"),
        ("q2", "问题2"),
    ]


def test_directions_add_up_to_the_errors(make_digest, rich_run: list[EvalRecord]) -> None:
    samples = from_file(make_digest(rich_run))
    ways = ranked_directions(samples)
    assert sum(way.n for way in ways) == int((samples.intent_top1 == 0).sum())
    for label, part in samples[samples.intent_top1 == 0].groupby("intent_l2"):
        assert sum(way.share for way in ways if way.gold == label) == pytest.approx(1)
        assert sum(way.n for way in ways if way.gold == label) == len(part)
