"""Switches for known-bad behaviour."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

from evalkit.errors import UnknownName, UsageError
from evalkit.targets.demo import demo
from evalkit.targets.demo.faults import Faults

QUESTIONS = [f"问题{number}" for number in range(2000)]


def test_a_share_is_a_share_of_the_questions_and_repeats() -> None:
    """Within four standard errors of a binomial with n = 2000, p = 0.3."""
    struck = [Faults(cut=0.3).strikes("cut", question) for question in QUESTIONS]
    assert sum(struck) / len(struck) == pytest.approx(0.3, abs=4 * (0.3 * 0.7 / 2000) ** 0.5)
    assert struck == [Faults(cut=0.3).strikes("cut", question) for question in QUESTIONS]


def test_a_larger_share_strikes_the_same_questions_and_more() -> None:
    few, many = Faults(reject=0.1), Faults(reject=0.4)
    assert all(many.strikes("reject", q) for q in QUESTIONS if few.strikes("reject", q))


def test_two_faults_strike_independently() -> None:
    faults = Faults(cut=0.5, reject=0.5)
    both = sum(faults.strikes("cut", q) and faults.strikes("reject", q) for q in QUESTIONS)
    assert 0.2 < both / len(QUESTIONS) < 0.3


@pytest.mark.parametrize(("share", "struck"), [(0.0, False), (1.0, True)])
def test_none_and_all(share: float, struck: bool) -> None:  # noqa: FBT001
    assert {Faults(cut=share).strikes("cut", question) for question in QUESTIONS} == {struck}


def test_faults_are_read_from_text() -> None:
    read = Faults.parsed(["cut=0.2, cut_after=5", "", "fail_evidence_as=envelope"])
    assert read == Faults(cut=0.2, cut_after=5, fail_evidence_as="envelope")


def test_an_unknown_fault_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'wrong_intent'"):
        Faults.parsed(["wrong_intend=1"])


@pytest.mark.parametrize(
    "pair",
    [
        "cut=2",
        "cut=often",
        "cut_after=-1",
        "slow_first_token_ms=-5",
        "fail_evidence_as=silence",
        "reject=nan",
    ],
)
def test_what_cannot_be_is_refused(pair: str) -> None:
    with pytest.raises(UsageError, match="wanted"):
        Faults.parsed([pair])


def test_the_environment_switches_faults_on_and_pairs_go_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALKIT_DEMO_FAULTS", "cut=0.2,reject=0.1")
    assert Faults.switched_on(["cut=0.5"]) == Faults(cut=0.5, reject=0.1)


def test_every_fault_is_a_parameter_of_the_target_and_on_the_page() -> None:
    wanted = {field.name for field in dataclasses.fields(Faults)}
    assert wanted <= inspect.signature(demo).parameters.keys()
    page = (Path(__file__).parents[3] / "docs" / "demo-shop.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in wanted)
