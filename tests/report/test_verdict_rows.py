"""What is shown of a comparison: headlines first, noise left out, and no name broken."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from evalkit.report.compare import compare
from evalkit.report.gate import gate
from evalkit.report.policy import Policy
from evalkit.report.snapshot import MetricFacts, Snapshot
from evalkit.report.verdict_rows import headlines, moved_slices, overall_changes, unpaired
from evalkit.report.verdict_text import comparison_view, verdict_view

MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]


def printed(view: object) -> str:
    sink = io.StringIO()
    Console(file=sink, width=80, markup=False, highlight=False, emoji=False).print(view)
    return sink.getvalue()


def squeezed(text: str) -> str:
    """The text without spaces at the ends of its lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param([1] * 10 + [0] * 10, "nothing moved in the 20 samples compared", id="same"),
        pytest.param([0] * 8 + [1] * 2 + [0] * 10, "worse: a (50% → 10%)", id="worse"),
        pytest.param([1] * 20, "better: a (50% → 100%)", id="better"),
        pytest.param([0] + [1] * 10 + [0] * 9, "nothing proven: 1 metric moved", id="chance"),
    ],
)
def test_the_headline_says_what_was_found(make_run: MakeRun, now: list[float], told: str) -> None:
    comparison = compare(make_run({"a": [1] * 10 + [0] * 10}), make_run({"a": now}))
    assert headlines(comparison)[0].startswith(told)
    assert printed(comparison_view(comparison)).startswith(told)


def test_few_cases_that_mostly_fell_are_suspect_in_the_headline(make_run: MakeRun) -> None:
    comparison = compare(make_run({"a": [1] * 5}), make_run({"a": [0] * 5}))
    assert headlines(comparison) == ["suspect, most cases fell but too few to prove it: a (100% → 0%)"]


def test_where_nothing_is_left_to_compare_nothing_is_suspect(make_run: MakeRun) -> None:
    texts = {"intent_l2": ["S1"] * 4 + ["S2"] * 10}
    base, run = (make_run({"a": [score] * 4 + [1] * 10}, texts=texts) for score in (1, None))
    comparison = compare(base, run, dimensions=("intent_l2",))
    shown = printed(comparison_view(comparison))
    assert headlines(comparison) == ["lost, the run has nothing to compare: a S1 (4 samples)"]
    assert "lost a S1\n  all 4 samples lost\n" in squeezed(shown)
    assert "lost by the run: a (4 samples)" in shown
    assert "suspect" not in shown


def test_times_come_after_all_else_and_are_slower_or_faster(make_run: MakeRun, make_facts: MakeFacts) -> None:
    facts = {"total_ms": make_facts("total_ms", is_rate=False, is_pct=False, lower_is_better=True)}
    before, after = ([float(start + i) for i in range(20)] for start in (100, 900))
    metrics = {**facts, "a": make_facts("a")}
    base = make_run({"total_ms": before, "a": [1] * 20}, metrics=metrics)
    run = make_run({"total_ms": after, "a": [0] * 10 + [1] * 10}, metrics=metrics)
    found = compare(base, run)
    assert [line.split(" ")[0] for line in headlines(found)] == ["worse:", "slower:"]
    shown = printed(comparison_view(found))
    assert shown.index("worse a") < shown.index("10 right → wrong") < shown.index("slower total_ms")
    same = make_run({"total_ms": after, "a": [1] * 20}, metrics=metrics)
    only = headlines(compare(base, same))
    assert only[0] == "nothing but times moved in the 20 samples compared"
    assert [change.metric for change in overall_changes(found)] == ["a", "total_ms"]


def test_what_counts_in_neither_run_is_left_out(make_run: MakeRun) -> None:
    run = make_run({"a": [1, 1], "b": [None, None]})
    assert [change.metric for change in overall_changes(compare(run, run))] == ["a"]
    lost = compare(make_run({"b": [1, 1]}), make_run({"b": [None, None]}))
    assert [change.metric for change in overall_changes(lost)] == ["b"]


def test_times_are_shown_by_slice_only_where_proven(make_run: MakeRun, make_facts: MakeFacts) -> None:
    facts = {"total_ms": make_facts("total_ms", is_rate=False, is_pct=False, lower_is_better=True)}
    texts = {"intent_l2": ["S1"] * 20 + ["S2"] * 5}
    chance = np.random.default_rng(1)
    before = list(1000 + chance.normal(0, 10, 25))
    after = [value + 500 for value in before[:20]] + [value + 1 for value in before[20:]]
    base, run = (make_run({"total_ms": scores}, metrics=facts, texts=texts) for scores in (before, after))
    assert [change.slice for change in moved_slices(compare(base, run))] == ["S1"]


def test_samples_of_one_eval_set_are_lost_not_removed(make_run: MakeRun) -> None:
    short = make_run([1] * 3, planned=5, complete=False)
    assert unpaired(compare(make_run([1] * 5), short))["lost"] == ("q00003", "q00004")
    other = compare(make_run([1] * 5), make_run([1] * 3, sha="cd" * 32), allow_changed_set=True)
    assert unpaired(other)["removed"] == ("q00003", "q00004")


def test_no_name_is_broken_at_80_columns(make_run: MakeRun) -> None:
    name = "context_precision_without_reference_llm@10"
    texts = {"intent_l2": ["S14_退换货咨询"] * 12}
    base, run = (make_run({name: [score] * 12}, texts=texts) for score in (1, 0))
    lines = printed(comparison_view(compare(base, run))).splitlines()
    assert f"worse {name}" in lines
    assert f"worse {name} S14_退换货咨询" in lines


def test_both_outputs_say_what_their_verdicts_go_by(make_run: MakeRun) -> None:
    base, run = make_run([1] * 20), make_run([0] * 7 + [1] * 13)
    verdict = gate(run, base=base, policy=Policy(regression=("intent_top1",)), today=date(2026, 8, 26))
    shown = [
        " ".join(printed(view).split())
        for view in (comparison_view(compare(base, run)), verdict_view(verdict))
    ]
    assert "`evalkit gate` goes by Holm p over its policy alone" in shown[0]
    assert "`evalkit diff` goes by q over all it compares" in shown[1]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans()), min_size=8, max_size=40)
)
def test_what_the_gate_proves_the_diff_finds(make_run: MakeRun, rows: list[tuple[bool, ...]]) -> None:
    """Of the same metrics and slices, q is never above the Holm p: Benjamini & Hochberg (1995)."""
    columns = [list(map(float, column)) for column in zip(*rows, strict=True)]
    texts = {"intent_l2": [f"S{row % 3}" for row in range(len(rows))]}
    base = make_run({"a": columns[0], "total_ms": columns[1]}, texts=texts)
    run = make_run({"a": columns[2], "total_ms": columns[3]}, texts=texts)
    for strict, free in zip(
        compare(base, run, family_wise=True).changes, compare(base, run).changes, strict=True
    ):
        assert (free.q is None) == (strict.p_holm is None)
        assert strict.verdict in ("undecided", free.verdict)
