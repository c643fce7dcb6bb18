"""What is drawn together: repeats of a case, turns of a dialog, questions on one document."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord
from evalkit.errors import UnknownName
from evalkit.metrics.intent import compute
from evalkit.records import Records
from evalkit.report.clusters import clusters
from evalkit.report.compare import compare
from evalkit.report.digest import Run, digest
from evalkit.report.gate import gate
from evalkit.report.intent_tree import intent_tree
from evalkit.report.policy import Policy
from evalkit.report.snapshot import Snapshot, snapshot
from evalkit.stats import bootstrap, sign_flip

TODAY = date(2026, 8, 26)


def turns(wrong: list[int], dialogs: int = 8, each: int = 3) -> Records:
    """Dialogs cut into one case a turn; those in `wrong` go wrong in every turn."""
    rows = [
        EvalRecord.model_validate(
            {
                "sample_id": f"d{dialog}t{turn}",
                "query": f"第{dialog}个对话第{turn}句",
                "intent_l2": "S1",
                "intent_pred": "S2" if dialog in wrong else "S1",
                "dialog_id": f"d{dialog}",
                "tags": ["first"] if turn == 0 else ["later", "odd"] if turn % 2 else ["later"],
            }
        )
        for dialog in range(dialogs)
        for turn in range(each)
    ]
    return Records.of(rows)


def seen(records: Records, **view: object) -> Snapshot:
    return snapshot(records, [compute(records)], None, **view)  # type: ignore[arg-type]


def test_without_a_field_the_repeats_of_a_case_go_together() -> None:
    rows = [EvalRecord(sample_id=name, query="q", repeat=n) for name in ("a", "b") for n in range(2)]
    assert clusters(Records.of(rows)).tolist() == [0, 0, 1, 1]


def test_cases_of_one_dialog_go_together() -> None:
    assert clusters(turns([]), "dialog_id").tolist() == [n // 3 for n in range(24)]


def test_cases_that_share_a_document_go_together_along_the_chain() -> None:
    """A and b share D1, b and c share D2: one cluster; d has none, and is its own, with its repeat."""
    documents = [("a", ["D1"]), ("b", ["D1", "D2"]), ("c", ["D2"]), ("d", []), ("d", []), ("e", ["D9"])]
    rows = [
        EvalRecord(sample_id=name, query="q", reference_doc_ids=docs, repeat=int(n == 4))
        for n, (name, docs) in enumerate(documents)
    ]
    assert clusters(Records.of(rows), "reference_doc_ids").tolist() == [0, 0, 0, 1, 1, 2]


@given(st.lists(st.lists(st.integers(0, 6), max_size=2), min_size=1, max_size=12))
def test_two_cases_are_of_one_cluster_exactly_where_a_chain_leads_from_one_to_the_other(
    labels: list[list[int]],
) -> None:
    rows = [
        EvalRecord(sample_id=str(n), query="q", tags=list(map(str, set(some))))
        for n, some in enumerate(labels)
    ]
    found = clusters(Records.of(rows), "tags")
    reached = np.array(
        [[bool(set(a) & set(b)) or i == j for j, b in enumerate(labels)] for i, a in enumerate(labels)]
    )
    for _ in labels:
        reached = reached | (reached.astype(int) @ reached.astype(int) > 0)
    assert np.array_equal(found[:, None] == found[None, :], reached)


def test_a_field_that_nobody_has_is_refused() -> None:
    with pytest.raises(UnknownName):
        seen(turns([]), cluster="dialogue")
    with pytest.raises(UnknownName):
        digest(Run("r", turns([]), []), cluster="dialogue")


def test_turns_of_a_dialog_make_no_number_surer() -> None:
    """Overall, by slice and in what there is to win: as wide as eight dialogs say, and the bootstrap's own bounds."""
    records = turns([0, 1])
    run = Run("r", records, [compute(records)])
    wide, narrow = digest(run, cluster="dialog_id"), digest(run)
    right = [0.0] * 6 + [1.0] * 18
    wanted = bootstrap(right, clusters=[n // 3 for n in range(24)])
    figure = next(f for f in wide.overall if f.metric == "intent_top1")
    assert (figure.ci_low, figure.ci_high) == (float(wanted.low), float(wanted.high))
    plain = next(f for f in narrow.overall if f.metric == "intent_top1")
    assert plain.ci_low is not None
    assert figure.ci_low < plain.ci_low
    (row,), (alone,) = (intent_tree(each, metric="intent_top1").leaves for each in (wide, narrow))
    assert (row.gain.low or 0) < (alone.gain.low or 0)
    assert (wide.cluster, narrow.cluster) == ("dialog_id", None)


def test_a_comparison_tests_dialogs_and_not_their_turns() -> None:
    """Three dialogs of three turns fall: nine flips of cases prove it, three dialogs cannot (2 / 2^3)."""
    before, after = turns([]), turns([0, 1, 2])
    alone = compare(seen(before), seen(after), allow_changed_set=True).of("intent_top1")
    together = compare(
        seen(before, cluster="dialog_id"), seen(after, cluster="dialog_id"), allow_changed_set=True
    ).of("intent_top1")
    assert alone is not None
    assert together is not None
    assert (alone.p, alone.movers, alone.verdict) == (2 / 2**9, None, "worse")
    assert (together.p, together.movers, together.verdict) == (sign_flip([-3.0] * 3), 3, "undecided")
    assert "too few cases to decide" in together.reason
    assert together.ci_low is not None
    assert alone.ci_low is not None
    assert together.ci_low < alone.ci_low
    assert together.delta == alone.delta


def test_a_gate_says_what_it_drew_together() -> None:
    records = turns([])
    verdict = gate(
        seen(records, cluster="dialog_id"), policy=Policy(thresholds={"intent_top1": 0.5}), today=TODAY
    )
    assert "cases that share dialog_id are drawn and tested together" in verdict.notes


def test_tags_are_slices_of_a_comparison() -> None:
    before, after = (seen(turns(wrong), by=("tags",)) for wrong in ([], [0, 1, 2]))
    found = compare(before, after, dimensions=("tags",), allow_changed_set=True)
    assert {change.slice: change.n_common for change in found.changes} == {
        "": 24,
        "first": 8,
        "later": 16,
        "odd": 8,
    }
    with pytest.raises(UnknownName):
        compare(before, after, dimensions=("difficulty",), allow_changed_set=True)
