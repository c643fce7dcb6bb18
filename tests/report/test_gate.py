"""The gate's three answers: the published traps, each with their numbers and with others; it fails closed."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.report.gate import gate
from evalkit.report.policy import KnownFailure, Policy, SliceLimits
from evalkit.report.snapshot import MetricFacts, Snapshot
from evalkit.report.verdict import Check, Verdict

MakeRun = Callable[..., Snapshot]
MakeFacts = Callable[..., MetricFacts]

TODAY = date(2026, 8, 26)
TOP1 = Policy(regression=("intent_top1",))
EXIT = {"PASS": 0, "REGRESSION": 1, "CANNOT DECIDE": 3}


def verdict(run: Snapshot, base: Snapshot | None = None, policy: Policy = TOP1, **known: Any) -> Verdict:
    found = gate(run, base=base, policy=policy, today=TODAY, **known)
    assert found.exit_code == EXIT[found.verdict]
    return found


def check(found: Verdict, name: str, metric: str = "", slice_: str = "") -> Check:
    return next(c for c in found.checks if (c.name, c.metric, c.slice) == (name, metric, slice_))


class TestPublishedTraps:
    """Inputs on which published gates answered wrongly; the first row of each is the published one."""

    @pytest.mark.parametrize(("left", "rows"), [(12, 100), (1, 100), (99, 100), (180, 200)])
    def test_a_run_with_the_easy_rows_only_cannot_be_decided(
        self, make_run: MakeRun, left: int, rows: int
    ) -> None:
        """12 of 100 rows, the right ones: a published gate said GO, delta 0."""
        easy = int(0.6 * rows) + left
        base = make_run(([1] * easy + [0] * rows)[:rows])
        found = verdict(make_run([1] * left), base)
        assert found.verdict == "CANNOT DECIDE"
        assert f"{left} of the {rows} samples" in check(found, "rows").reason

    @pytest.mark.parametrize(("kept", "rows"), [(50, 100), (19, 20)])
    def test_lost_rows_cannot_be_decided(self, make_run: MakeRun, kept: int, rows: int) -> None:
        """Half of the rows lost, the rest as good as before: a published gate ended with 0 and a warning."""
        found = verdict(make_run([1] * kept), make_run([1] * rows))
        assert (found.verdict, found.exit_code) == ("CANNOT DECIDE", 3)

    @pytest.mark.parametrize(("undecided", "rows"), [(50, 100), (6, 100), (2, 20)])
    def test_a_judge_that_does_not_decide_cannot_pass(
        self, make_run: MakeRun, undecided: int, rows: int
    ) -> None:
        """Rows are there, scores are not: a published gate ended with 0."""
        run = make_run([1] * (rows - undecided) + [None] * undecided)
        found = verdict(run, make_run([1] * rows))
        assert found.verdict == "CANNOT DECIDE"
        seen = check(found, "coverage", "intent_top1")
        assert (seen.n, seen.found) == (rows - undecided, 1 - undecided / rows)

    def test_up_to_the_floor_what_was_lost_is_told_and_passes(self, make_run: MakeRun) -> None:
        found = verdict(make_run([1] * 95 + [None] * 5), make_run([1] * 100))
        assert found.verdict == "PASS"
        assert check(found, "coverage", "intent_top1").reason == "95 samples counted, 5 lost: 95%"

    @pytest.mark.parametrize(("size", "rows"), [(5, 1_000), (5, 100), (3, 100), (4, 60)])
    @pytest.mark.parametrize("suspect", ["flag", "stop"])
    def test_a_lost_intent_in_a_better_whole_is_suspect(
        self, make_run: MakeRun, size: int, rows: int, suspect: Any
    ) -> None:
        """One intent 5/5 to 0/5, the whole up: two published gates said GO and 0. McNemar says p = 0.0625."""
        texts = {"intent_l2": ["S3"] * size + [f"S{4 + i % 7}" for i in range(rows - size)]}
        base = make_run([1] * size + [0] * size * 4 + [1] * (rows - 5 * size), texts=texts)
        run = make_run([0] * size + [1] * (rows - size), texts=texts)
        found = verdict(run, base, replace(TOP1, suspect=suspect))
        seen = check(found, "regression", "intent_top1", "intent_l2=S3")
        assert found.verdict == ("PASS" if suspect == "flag" else "CANNOT DECIDE")
        assert seen.flagged
        assert "too few cases to decide" in seen.reason
        assert f"p = {2 / 2**size:g}" in seen.reason
        assert check(found, "regression", "intent_top1").found > 0

    @pytest.mark.parametrize("size", [6, 9])
    def test_enough_cases_of_a_lost_intent_are_a_regression(self, make_run: MakeRun, size: int) -> None:
        """6/6 to 0/6 is p = 0.03125, beside a whole whose own rise is beyond doubt."""
        texts = {"intent_l2": ["S3"] * size + [f"S{4 + i % 40}" for i in range(100)]}
        base = make_run([1] * size + [0] * 40 + [1] * 60, texts=texts)
        found = verdict(make_run([0] * size + [1] * 100, texts=texts), base)
        seen = check(found, "regression", "intent_top1", "intent_l2=S3")
        assert (found.verdict, seen.verdict) == ("REGRESSION", "REGRESSION")
        assert f"p = {2 / 2**size:.4g}" in seen.reason

    @pytest.mark.parametrize(("flips", "rows"), [(2, 20), (1, 10), (3, 30)])
    @pytest.mark.parametrize("categories", [1, 2])
    def test_few_flips_are_no_regression_however_they_are_sliced(
        self, make_run: MakeRun, flips: int, rows: int, categories: int
    ) -> None:
        """2 flips in 20 over two balanced categories: a published gate said NO-GO from an interval of no width."""
        texts = {"intent_l2": [f"S{i % categories}" for i in range(rows)]}
        found = verdict(
            make_run([0] * flips + [1] * (rows - flips), texts=texts), make_run([1] * rows, texts=texts)
        )
        assert found.verdict == "CANNOT DECIDE"
        change = found.comparison.of("intent_top1")
        assert change.ci_low < change.delta < change.ci_high

    @pytest.mark.parametrize("rows", [20, 7])
    def test_an_inserted_question_shifts_no_pair(self, make_run: MakeRun, rows: int) -> None:
        """Identical answers, one question more at the top, ids that are row numbers: a published gate paired by
        index, 20 wrong pairs.
        """
        scores = [i % 2 for i in range(rows)]
        said = [f"case {i}" for i in range(rows)]
        base = make_run(scores, texts={"case_sha": said})
        run = make_run([1, *scores], texts={"case_sha": ["new", *said]}, sha="cd" * 32)
        refused = verdict(run, base)
        assert refused.verdict == "CANNOT DECIDE"
        assert "eval set: sha256 abababababab…" in check(refused, "comparable").reason
        found = verdict(run, base, allow_changed_set=True)
        assert found.verdict == "PASS"
        change = found.comparison.of("intent_top1")
        assert (change.n_common, change.worse, change.better) == (rows, 0, 0)
        assert check(found, "rows").flagged
        assert check(found, "rows").reason == f"{rows} of {rows} compared; 0 removed, 0 changed, 1 added"

    @pytest.mark.parametrize(
        "policy",
        [
            pytest.param(Policy(), id="no metric named"),
            pytest.param(
                Policy(slices={"intent_l2": {"*": SliceLimits(thresholds={"intent_top1": 0})}}), id="no slice"
            ),
            pytest.param(Policy(regression=("intent_top",)), id="a metric nobody measures"),
            pytest.param(Policy(thresholds={"recall@5": 0}), id="a threshold nobody measures"),
        ],
    )
    def test_a_policy_that_matches_nothing_passes_nothing(self, make_run: MakeRun, policy: Policy) -> None:
        """A published gate said GO, 'no gated benchmarks evaluated'."""
        assert verdict(make_run([1] * 10), make_run([1] * 10), policy).verdict == "CANNOT DECIDE"


class TestRegression:
    @pytest.mark.parametrize("n", [6, 20, 1_000])
    def test_six_flips_of_one_way_are_a_regression_five_cannot_be_decided(
        self, make_run: MakeRun, n: int
    ) -> None:
        six = verdict(make_run([0] * 6 + [1] * (n - 6)), make_run([1] * n))
        five = verdict(make_run([0] * 5 + [1] * (n - 5)), make_run([1] * n))
        assert (six.verdict, six.exit_code) == ("REGRESSION", 1)
        assert "p = 0.03125" in six.headline
        assert (five.verdict, five.exit_code) == ("CANNOT DECIDE", 3)
        assert "p = 0.0625" in five.headline

    def test_the_same_run_passes(self, make_run: MakeRun) -> None:
        assert verdict(make_run([1, 0] * 20), make_run([1, 0] * 20)).verdict == "PASS"

    def test_a_better_run_passes(self, make_run: MakeRun) -> None:
        assert verdict(make_run([1] * 40), make_run([0] * 20 + [1] * 20)).verdict == "PASS"

    def test_a_flip_or_two_in_many_pass_with_their_reason(self, make_run: MakeRun) -> None:
        found = verdict(make_run([0] * 2 + [1] * 198), make_run([1] * 200))
        assert found.verdict == "PASS"
        assert check(found, "regression", "intent_top1").reason.startswith("too few cases to decide: p = 0.5")

    @pytest.mark.parametrize(
        ("worse", "limit", "wanted"),
        [
            pytest.param(10, 0.10, "PASS", id="proven, and just allowed"),
            pytest.param(11, 0.10, "REGRESSION", id="proven, and more"),
            pytest.param(5, 0.05, "PASS", id="unproven, and just allowed"),
            pytest.param(5, 0.04, "CANNOT DECIDE", id="unproven, and more"),
            pytest.param(0, 0.00, "PASS", id="nothing moved, nothing allowed"),
            pytest.param(1, 0.00, "CANNOT DECIDE", id="one moved, nothing allowed"),
        ],
    )
    def test_a_limit_allows_a_fall_and_bounds_an_unproven_one(
        self, make_run: MakeRun, worse: int, limit: float, wanted: str
    ) -> None:
        policy = replace(TOP1, max_drop={"intent_top1": limit})
        found = verdict(make_run([0] * worse + [1] * (100 - worse)), make_run([1] * 100), policy)
        assert found.verdict == wanted

    def test_a_limit_of_one_slice_holds_there_alone(self, make_run: MakeRun) -> None:
        texts = {"intent_l2": ["S3"] * 10 + ["S4"] * 10 + ["S5"] * 80}
        base = make_run([1] * 100, texts=texts)
        run = make_run([0] + [1] * 9 + [0] + [1] * 89, texts=texts)
        limits = {"intent_l2": {"S3": SliceLimits(max_drop={"intent_top1": 0.05})}}
        found = verdict(run, base, replace(TOP1, slices=limits))
        assert check(found, "regression", "intent_top1", "intent_l2=S3").verdict == "CANNOT DECIDE"
        assert check(found, "regression", "intent_top1", "intent_l2=S4").verdict == "PASS"

    def test_what_the_whole_may_fall_a_slice_may_too(self, make_run: MakeRun) -> None:
        """All of a fall of 30 % is in the one slice there is; proven, and allowed."""
        texts = {"intent_l2": ["S3"] * 20}
        base, run = make_run([1] * 20, texts=texts), make_run([0] * 6 + [1] * 14, texts=texts)
        assert verdict(run, base, replace(TOP1, max_drop={"intent_top1": 0.3})).verdict == "PASS"
        assert verdict(run, base, replace(TOP1, max_drop={"intent_top1": 0.29})).verdict == "REGRESSION"

    def test_milliseconds_fall_short_by_rising(self, make_run: MakeRun, make_facts: MakeFacts) -> None:
        facts = {"ttft_ms": make_facts("ttft_ms", is_rate=False, is_pct=False, lower_is_better=True)}
        base = make_run({"ttft_ms": [300.0 + i for i in range(30)]}, metrics=facts)
        run = make_run({"ttft_ms": [340.0 + i for i in range(30)]}, metrics=facts)
        policy = Policy(regression=("ttft_ms",))
        assert verdict(run, base, policy).verdict == "REGRESSION"
        assert verdict(base, run, policy).verdict == "PASS"
        assert verdict(run, base, replace(policy, max_drop={"ttft_ms": 40})).verdict == "PASS"

    def test_without_a_baseline_it_cannot_be_decided(self, make_run: MakeRun) -> None:
        found = verdict(make_run([1] * 10))
        assert found.verdict == "CANNOT DECIDE"
        assert "no baseline" in found.headline

    @pytest.mark.parametrize(
        ("facts", "told"),
        [
            pytest.param({"version": 2}, "version v1 in the base, v2 in the run", id="version"),
            pytest.param(
                {"params": "|judge=qwen-3"}, "judge nothing in the base, qwen-3 in the run", id="judge"
            ),
        ],
    )
    def test_another_measure_cannot_be_decided(
        self, make_run: MakeRun, make_facts: MakeFacts, facts: dict[str, Any], told: str
    ) -> None:
        """Not even where another metric is proven worse, or every threshold fails."""
        base = make_run({"a": [1] * 9, "b": [1] * 9})
        run = make_run({"a": [0] * 9, "b": [1] * 9}, metrics={"b": make_facts("b", **facts)})
        found = verdict(run, base, Policy(regression=("a", "b"), thresholds={"a": 0.9}))
        assert found.exit_code == 3
        assert told in found.headline

    def test_doubt_about_one_metric_does_not_hide_a_regression_of_another(self, make_run: MakeRun) -> None:
        base = make_run({"a": [1] * 9, "b": [1] * 9})
        run = make_run({"a": [0] * 9, "b": [1] * 3 + [None] * 6})
        assert verdict(run, base, Policy(regression=("a", "b"))).verdict == "REGRESSION"
        assert verdict(run, base, Policy(regression=("b",))).verdict == "CANNOT DECIDE"

    def test_few_samples_under_the_least_cannot_be_decided(self, make_run: MakeRun) -> None:
        found = verdict(make_run([1] * 9), make_run([1] * 9), replace(TOP1, min_n=10))
        assert "9 samples counted, wanted at least 10" in found.headline

    @pytest.mark.parametrize("which", ["run", "base"])
    def test_an_incomplete_run_or_base_cannot_be_decided(self, make_run: MakeRun, which: str) -> None:
        runs = {name: make_run([1] * 10, complete=name != which, planned=20) for name in ("run", "base")}
        found = verdict(runs["run"], runs["base"])
        assert found.verdict == "CANNOT DECIDE"
        assert found.failing[0].title == f"complete {which}"


class TestThresholds:
    @pytest.mark.parametrize(
        ("scores", "wanted", "passes"),
        [
            pytest.param([0.1 + 0.2] * 3, 0.3, True, id="a bit over for the computer alone"),
            pytest.param([0.3] * 3, 0.1 + 0.2, True, id="a bit under for the computer alone"),
            pytest.param([0.7 * 0.4 + 0.7 * 0.6] * 3, 0.7, True, id="weighted 0.7"),
            pytest.param([1, 1, 1, 1, 0], 0.8, True, id="exactly there"),
            pytest.param([1, 1, 1, 1, 0], 0.8 + 1e-6, False, id="just short"),
            pytest.param([1, 1, 1, 0, 0], 0.8, False, id="short"),
        ],
    )
    def test_exactly_at_the_threshold_passes(
        self, make_run: MakeRun, scores: list[float], wanted: float, *, passes: bool
    ) -> None:
        found = verdict(make_run(scores), policy=Policy(thresholds={"intent_top1": wanted}))
        assert found.verdict == ("PASS" if passes else "REGRESSION")

    def test_a_mean_just_short_does_not_read_like_the_threshold(self, make_run: MakeRun) -> None:
        found = verdict(make_run([0.7999999] * 3), policy=Policy(thresholds={"intent_top1": 0.8}))
        seen = check(found, "threshold", "intent_top1")
        assert (seen.found_text, seen.wanted_text) == ("79.99999%", "at least 80%")

    @pytest.mark.parametrize(("limit", "wanted"), [(300.0, "PASS"), (299.0, "REGRESSION")])
    def test_where_lower_is_better_a_threshold_bounds_from_above(
        self, make_run: MakeRun, make_facts: MakeFacts, limit: float, wanted: str
    ) -> None:
        facts = {"ttft_ms": make_facts("ttft_ms", is_rate=False, is_pct=False, lower_is_better=True)}
        run = make_run({"ttft_ms": [200.0, 400.0]}, metrics=facts)
        assert verdict(run, policy=Policy(thresholds={"ttft_ms": limit})).verdict == wanted

    def test_half_the_scores_missing_cannot_reach_a_threshold(self, make_run: MakeRun) -> None:
        """5 of 10 judged, 90 % of them right: 0.9 is no evidence."""
        scores = [1.0, 1.0, 1.0, 1.0, 0.5, *[None] * 5]
        found = verdict(make_run(scores), policy=Policy(thresholds={"intent_top1": 0.8}))
        assert found.verdict == "CANNOT DECIDE"
        assert (
            "coverage 50% (5 of 10), wanted at least 95%" in check(found, "threshold", "intent_top1").reason
        )

    def test_samples_without_such_gold_are_not_missing(self, make_run: MakeRun) -> None:
        """Ten cases need no documents: hit@5 counts the other ten, all of what could count."""
        texts = {"gold": ["needs_retrieval"] * 10 + ["intent_l2"] * 10}
        run = make_run({"hit@5": [1] * 10 + [None] * 10}, texts=texts)
        assert verdict(run, policy=Policy(thresholds={"hit@5": 0.9})).verdict == "PASS"

    def test_nothing_counted_cannot_be_decided(self, make_run: MakeRun) -> None:
        found = verdict(make_run([None] * 4), policy=Policy(thresholds={"intent_top1": 0}))
        assert found.verdict == "CANNOT DECIDE"

    def test_every_slice_with_enough_samples_is_held(self, make_run: MakeRun) -> None:
        texts = {"intent_l2": ["S3"] * 5 + ["S4"] * 5 + ["S5"] * 2}
        run = make_run([1] * 5 + [1, 1, 0, 0, 0] + [0] * 2, texts=texts)
        limits = SliceLimits(thresholds={"intent_top1": 0.5}, min_n=5)
        found = verdict(run, policy=Policy(slices={"intent_l2": {"*": limits}}))
        held = {c.slice: c.verdict for c in found.checks if c.name == "threshold"}
        assert held == {"intent_l2=S3": "PASS", "intent_l2=S4": "REGRESSION"}

    @pytest.mark.parametrize(
        ("label", "told"),
        [("S5", "2 samples counted, wanted at least 5"), ("S9", "nothing counted")],
    )
    def test_a_slice_that_is_named_must_be_there_and_count(
        self, make_run: MakeRun, label: str, told: str
    ) -> None:
        texts = {"intent_l2": ["S3"] * 8 + ["S5"] * 2}
        limits = SliceLimits(thresholds={"intent_top1": 0.5}, min_n=5)
        found = verdict(make_run([1] * 10, texts=texts), policy=Policy(slices={"intent_l2": {label: limits}}))
        assert found.verdict == "CANNOT DECIDE"
        assert told in check(found, "threshold", "intent_top1", f"intent_l2={label}").reason

    def test_a_metric_nobody_measures_is_named_with_the_nearest(self, make_run: MakeRun) -> None:
        found = verdict(make_run([1]), policy=Policy(thresholds={"intent_topl": 0.5}))
        assert found.verdict == "CANNOT DECIDE"
        assert "did you mean 'intent_top1'?" in check(found, "threshold", "intent_topl").reason


class TestKnownFailures:
    def known(self, *ids: str, **fields: Any) -> Policy:
        known = {"until": date(2026, 9, 30), "reason": "供应商正在改写", **fields}
        failures = tuple(KnownFailure(sample_id=name, **known) for name in ids)
        return Policy(regression=("intent_top1",), thresholds={"intent_top1": 0.9}, known_failures=failures)

    def runs(self, make_run: MakeRun) -> tuple[Snapshot, Snapshot]:
        return make_run([0] * 6 + [1] * 40), make_run([1] * 46)

    def test_until_their_day_they_do_not_count(self, make_run: MakeRun) -> None:
        run, base = self.runs(make_run)
        ids = [f"q0000{i}" for i in range(6)]
        assert verdict(run, base, self.known()).verdict == "REGRESSION"
        found = verdict(run, base, self.known(*ids))
        assert found.verdict == "PASS"
        assert check(found, "threshold", "intent_top1").n == 40
        assert any("6 known failures not counted" in note for note in found.notes)

    @pytest.mark.parametrize(
        ("until", "wanted"),
        [
            pytest.param(date(2026, 8, 26), "PASS", id="through that day"),
            pytest.param(date(2026, 8, 25), "REGRESSION", id="not after it"),
        ],
    )
    def test_an_expired_one_counts_again_and_is_told(
        self, make_run: MakeRun, until: date, wanted: str
    ) -> None:
        run, base = self.runs(make_run)
        found = verdict(run, base, self.known(*[f"q0000{i}" for i in range(6)], until=until))
        assert found.verdict == wanted
        assert any("expired on 2026-08-25, and counts again: 供应商" in note for note in found.notes) == (
            wanted == "REGRESSION"
        )

    def test_one_of_another_metric_counts_in_this_one(self, make_run: MakeRun) -> None:
        run, base = self.runs(make_run)
        ids = [f"q0000{i}" for i in range(6)]
        assert verdict(run, base, self.known(*ids, metric="recall@5")).verdict == "REGRESSION"
        assert verdict(run, base, self.known(*ids, metric="intent_top1")).verdict == "PASS"

    def test_one_that_passes_again_or_is_gone_is_told(self, make_run: MakeRun) -> None:
        found = verdict(make_run([1] * 10), make_run([1] * 10), self.known("q00003", "q99"))
        assert any("q00003 passes now" in note for note in found.notes)
        assert any("q99: the run has no such sample" in note for note in found.notes)

    def test_all_of_them_known_leave_nothing_to_pass(self, make_run: MakeRun) -> None:
        run = make_run([0] * 3)
        found = verdict(run, run, self.known("q00000", "q00001", "q00002"))
        assert found.verdict == "CANNOT DECIDE"


def test_another_target_is_told(make_run: MakeRun) -> None:
    found = verdict(make_run([1] * 9), make_run([1] * 9, target="old shop"))
    assert found.notes == ("the base was measured on the target old shop, the run on shop",)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 1.0, None])] * 2, st.sampled_from("AB")), min_size=1, max_size=30
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_the_samples_changes_no_check(
    make_run: MakeRun, rows: list[tuple[float | None, float | None, str]], chance: random.Random
) -> None:
    texts = {"intent_l2": [label for *_, label in rows]}
    base, run = (make_run([row[side] for row in rows], texts=texts) for side in (0, 1))
    order = list(range(len(rows)))
    chance.shuffle(order)
    policy = replace(TOP1, thresholds={"intent_top1": 0.5})
    shuffled = replace(run, samples=run.samples.iloc[order])
    assert verdict(run, base, policy).checks == verdict(shuffled, base, policy).checks


@settings(max_examples=30, deadline=None)
@given(st.lists(st.sampled_from([0.0, 1.0, None]), min_size=1, max_size=40))
def test_nothing_lost_or_unmeasured_ever_passes(make_run: MakeRun, scores: list[float | None]) -> None:
    """Whatever the run holds: where under 95 % of the base's samples count, the gate does not pass."""
    found = verdict(make_run(scores), make_run([1.0] * len(scores)))
    counted = sum(score is not None for score in scores)
    if counted < 0.95 * len(scores):
        assert found.verdict == "CANNOT DECIDE"
