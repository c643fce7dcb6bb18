"""A policy says what it means: every key is known, every value can mean something, or it is refused."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from evalkit.errors import NoInput, UnknownName, UsageError
from evalkit.report.policy import KnownFailure, Policy, SliceLimits, read

WHOLE = """
[gate]
baseline = "eval_sets/baselines/shop.json"
regression = ["intent_top1", "recall@5"]
by = ["intent_l2", "intent_l1"]
alpha = 0.1
min_coverage = 0.9
min_n = 20
suspect = "stop"
undecided_drop = 0.02

[gate.thresholds]
intent_top1 = 0.8
ttft_ms = 2000

[gate.max_drop]
"recall@5" = 0.02

[gate.slices.intent_l2."S14_退换货咨询"]
thresholds = { intent_top1 = 0.9 }
max_drop = { intent_top1 = 0 }

[gate.slices.intent_l2."*"]
min_n = 5
thresholds = { intent_top1 = 0.5 }

[[gate.known_failures]]
sample_id = "q17"
until = 2026-09-30
reason = "供应商正在改写说明书"

[[gate.known_failures]]
sample_id = "q18"
metric = "intent_top1"
until = "2026-10-01"
reason = "near-word intents"

[demo]
anything = "is somebody else's"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "evalkit.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_policy_is_read(tmp_path: Path) -> None:
    policy = read(written(tmp_path, WHOLE))
    assert policy == Policy(
        baseline="eval_sets/baselines/shop.json",
        regression=("intent_top1", "recall@5"),
        by=("intent_l2", "intent_l1"),
        alpha=0.1,
        min_coverage=0.9,
        min_n=20,
        suspect="stop",
        undecided_drop=0.02,
        thresholds={"intent_top1": 0.8, "ttft_ms": 2000},
        max_drop={"recall@5": 0.02},
        slices={
            "intent_l2": {
                "S14_退换货咨询": SliceLimits(thresholds={"intent_top1": 0.9}, max_drop={"intent_top1": 0}),
                "*": SliceLimits(min_n=5, thresholds={"intent_top1": 0.5}),
            }
        },
        known_failures=(
            KnownFailure(sample_id="q17", until=date(2026, 9, 30), reason="供应商正在改写说明书"),
            KnownFailure(
                sample_id="q18", metric="intent_top1", until=date(2026, 10, 1), reason="near-word intents"
            ),
        ),
    )


def test_a_slice_without_limits_of_its_own_has_those_of_all(tmp_path: Path) -> None:
    policy = read(written(tmp_path, WHOLE))
    assert policy.limits("intent_l2", "S3").min_n == 5
    assert policy.limits("intent_l2", "S14_退换货咨询").min_n == 1
    assert policy.limits("intent_l1", "售后") is None
    assert policy.dimensions == ("intent_l1", "intent_l2")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        pytest.param("treshold = 1", "thresholds", id="gate"),
        pytest.param("[gate.thresholds]\n[gate.slice.intent_l2]", "slices", id="table"),
        pytest.param("[gate.slices.intent_12]", "intent_l2", id="dimension"),
        pytest.param('[gate.slices.intent_l2."*"]\nmin_m = 3', "min_n", id="limit"),
        pytest.param('by = ["intent_l3"]', "intent_l2", id="slices"),
        pytest.param('suspect = "stopp"', "stop", id="word"),
        pytest.param(
            '[[gate.known_failures]]\nsample = "q"\nuntil = 2026-09-30\nreason = "r"',
            "sample_id",
            id="known failure",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path, text: str, near: str) -> None:
    with pytest.raises(UnknownName, match="Did you mean") as error:
        read(written(tmp_path, f"[gate]\n{text}\n"))
    assert f"Did you mean {near!r}" in str(error.value)
    assert error.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("min_coverage = 1.5", "gate.min_coverage: found 1.5, wanted a share", id="share"),
        pytest.param("min_coverage = nan", "found nan", id="not a number"),
        pytest.param("min_coverage = true", "found true", id="flag"),
        pytest.param("min_n = 0", "gate.min_n: found 0, wanted a whole number", id="none"),
        pytest.param("min_n = 2.5", "found 2.5", id="part"),
        pytest.param("alpha = 0", "gate.alpha: found 0, wanted a level", id="level"),
        pytest.param("alpha = 1", "wanted a level", id="level 1"),
        pytest.param("undecided_drop = -0.1", "found -0.1, wanted a share from 0 to 1", id="negative"),
        pytest.param('thresholds = "0.8"', "gate.thresholds: found '0.8', wanted a table", id="no table"),
        pytest.param("[gate.thresholds]\nm = inf", "gate.thresholds.m: found inf", id="infinite"),
        pytest.param('[gate.thresholds]\nm = "0.8"', "gate.thresholds.m: found '0.8'", id="text"),
        pytest.param('regression = "m"', "gate.regression: found 'm', wanted a list", id="no list"),
        pytest.param('regression = ["m", "m"]', "found 'm', wanted each item once", id="twice"),
        pytest.param('regression = [""]', r"gate.regression[0]: found ''", id="empty"),
        pytest.param(
            "[gate.max_drop]\nm = 0.1", "found 'm', which gate.regression does not name", id="limit"
        ),
        pytest.param(
            "[gate.slices.intent_l2.S]\nmax_drop = { m = 0.1 }",
            "gate.slices.intent_l2.S.max_drop",
            id="slice limit",
        ),
        pytest.param(
            '[[gate.known_failures]]\nsample_id = "q"\nuntil = 2026-09-30', "no 'reason'", id="no reason"
        ),
        pytest.param('[[gate.known_failures]]\nsample_id = "q"\nreason = "r"', "no 'until'", id="no day"),
        pytest.param(
            '[[gate.known_failures]]\nsample_id = "q"\nuntil = 2026-09-30\nreason = " "',
            "not empty",
            id="blank reason",
        ),
        pytest.param(
            '[[gate.known_failures]]\nsample_id = "q"\nuntil = "soon"\nreason = "r"',
            "found 'soon'",
            id="no date",
        ),
        pytest.param("min_n = 1\nmin_n = 2", "found no TOML", id="broken"),
    ],
)
def test_a_value_that_cannot_be_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = written(tmp_path, f"[gate]\n{text}\n")
    with pytest.raises(UsageError) as error:
        read(path)
    assert str(error.value).startswith(str(path)) or str(error.value).startswith("gate.")
    assert told in str(error.value)


def test_a_file_without_the_table_gates_nothing_only_where_none_was_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, "[demo]\nport = 1\n")
    assert read(path, needed=False) == Policy()
    with pytest.raises(UsageError, match=r"found demo, wanted the table \[gate\]"):
        read(path)


def test_a_misspelt_table_is_never_taken_for_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"wanted the table \[gate\]"):
        read(written(tmp_path, "[gates]\nmin_n = 1\n"), needed=False)


def test_a_policy_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoInput, match="no such file"):
        read(tmp_path / "evalkit.toml")


def test_a_policy_in_another_encoding_is_no_traceback(tmp_path: Path) -> None:
    path = tmp_path / "evalkit.toml"
    path.write_bytes("[gate]\nbaseline = '基线'\n".encode("gbk"))
    with pytest.raises(UsageError, match="found no TOML"):
        read(path)


def test_the_example_of_the_module_is_a_policy(tmp_path: Path) -> None:
    from evalkit.report import policy

    _, example = (policy.__doc__ or "").split("\n\n", 1)
    assert read(written(tmp_path, example)).known_failures[0].sample_id == "q17"
