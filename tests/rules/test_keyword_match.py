"""Keyword matching: the mission's figures, alternatives, forbidden words, denials, scopes, hostile text."""

from __future__ import annotations

import time
from typing import Any

import pytest

from evalkit.contracts import Case
from evalkit.errors import UsageError
from evalkit.rules.keyword_match import keyword_match

from .conftest import dialog, reply

APPOINTMENT = ["内科", "明天", "上午", "张三", "13800138000"]


def test_three_of_five_are_six_tenths(case: Case) -> None:
    """Mission, functional completeness, first plan, section 4: 3 of 5 confirmed is a completion of 60 %."""
    verdict = keyword_match(case, reply("好的，内科明天上午有号。"), keywords=APPOINTMENT)
    assert verdict.score == 0.6
    assert verdict.passed is False
    assert verdict.detail["missing"] == ["张三", "13800138000"]


@pytest.mark.parametrize(
    ("text", "params", "passed", "score"),
    [
        pytest.param("内科明天上午", {"min_match_ratio": 0.6}, True, 0.6, id="ratio reached exactly"),
        pytest.param("内科明天上午", {"min_match_ratio": 0.61}, False, 0.6, id="ratio missed"),
        pytest.param("", {"min_match_ratio": 0.0}, True, 0.0, id="nothing is enough"),
        pytest.param(
            "内科", {"keywords": ["内科", "内科", "内科"]}, True, 1.0, id="repeated keyword counts once"
        ),
        pytest.param("ＡＰＰ", {"keywords": ["app"]}, True, 1.0, id="width and case"),
        pytest.param("ＡＰＰ", {"keywords": ["app"], "normalizer": "exact"}, False, 0.0, id="exact"),
        pytest.param("可以退款", {"keywords": [["退货", "退款"]]}, True, 1.0, id="alternative"),
        pytest.param("可以换货", {"keywords": [["退货", "退款"], "换货"]}, False, 0.5, id="no alternative"),
        pytest.param("不是红色", {"keywords": ["红色"]}, False, 0.0, id="denied"),
        pytest.param(
            "不是红色", {"keywords": ["红色"], "negation": False}, True, 1.0, id="denied, told to ignore it"
        ),
        pytest.param("不是红色，红色没有", {"keywords": ["红色"]}, True, 1.0, id="denied once, said once"),
        pytest.param("不支持退货", {"keywords": ["不支持退货"]}, True, 1.0, id="the denial is the keyword"),
        pytest.param("保证退款", {"keywords": [], "forbidden": ["保证"]}, False, 0.0, id="forbidden"),
        pytest.param(
            "不能保证退款", {"keywords": [], "forbidden": ["保证"]}, True, 1.0, id="forbidden, but denied"
        ),
        pytest.param(
            "可以退款", {"keywords": ["退款"], "forbidden": ["保证"]}, True, 1.0, id="both kinds hold"
        ),
        pytest.param(
            "保证退款", {"keywords": ["退款"], "forbidden": ["保证"]}, False, 0.0, id="forbidden beats all"
        ),
        pytest.param("订单E2026", {"keywords": [r"E\d{4}"], "regex": True}, True, 1.0, id="pattern"),
        pytest.param(
            "订单", {"keywords": [r"E\d{4}"], "regex": True}, False, 0.0, id="pattern that is not there"
        ),
        pytest.param("\ud800a", {"keywords": ["a"], "regex": True}, True, 1.0, id="half a character"),
    ],
)
def test_table(case: Case, text: str, params: dict[str, Any], score: float, *, passed: bool) -> None:
    verdict = keyword_match(case, reply(text), **{"keywords": APPOINTMENT, **params})
    assert (verdict.passed, verdict.score) == (passed, score)


SLOT_IN_TURN_TWO = dialog(("挂号", "好的"), ("张三", "张三您好"), ("谢谢", "不客气"))


@pytest.mark.parametrize(
    ("scope", "passed"),
    [("last_turn", False), ("any_turn", True), ("every_agent_turn", False), ("full_dialog", True)],
)
def test_scope_is_what_is_looked_at(case: Case, scope: Any, *, passed: bool) -> None:
    """The last-turn trap: what was said in turn 2 counts over the dialog, and not in the last turn."""
    verdict = keyword_match(case, SLOT_IN_TURN_TWO, keywords=["张三"], evaluation_scope=scope)
    assert verdict.passed is passed
    assert verdict.scope == scope


def test_the_verdict_names_the_turn_that_decided(case: Case) -> None:
    verdict = keyword_match(case, SLOT_IN_TURN_TWO, keywords=["张三"], evaluation_scope="any_turn")
    assert verdict.detail["turn"] == 1
    assert keyword_match(case, SLOT_IN_TURN_TWO, keywords=["张三"]).detail["turn"] == 2


def test_keywords_may_be_said_in_different_turns(case: Case) -> None:
    said = dialog(("挂号", "内科"), ("几点", "上午"))
    whole = keyword_match(case, said, keywords=["内科", "上午"], evaluation_scope="full_dialog")
    assert whole.score == 1.0
    assert keyword_match(case, said, keywords=["内科", "上午"], evaluation_scope="any_turn").score == 0.5


def test_nothing_to_look_for_is_undecided(case: Case) -> None:
    """Nothing is not zero: 0 of 0 keywords is no score."""
    verdict = keyword_match(case, reply("好的"))
    assert (verdict.passed, verdict.score) == (None, None)
    assert "no keyword" in verdict.reason


def test_nothing_said_is_undecided(case: Case) -> None:
    assert keyword_match(case, [], keywords=["退货"]).passed is None


@pytest.mark.parametrize("word", ["", " ", "\u200b"])
def test_an_empty_keyword_is_refused(case: Case, word: str) -> None:
    with pytest.raises(UsageError, match="not empty"):
        keyword_match(case, reply("好的"), keywords=[word])


@pytest.mark.parametrize("pattern", ["(?=a)", r"(a)\1", "[", "\ud800"])
def test_a_pattern_that_cannot_be_linear_is_refused(case: Case, pattern: str) -> None:
    with pytest.raises(UsageError, match="RE2"):
        keyword_match(case, reply("好的"), keywords=[pattern], regex=True)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        pytest.param("^(a+)+$", "a" * 40 + "!", id="nested repeats"),
        pytest.param("(x+x+)+y", "x" * 100_000, id="long text"),
        pytest.param("(a|a)*b", "a" * 100_000, id="alternatives that overlap"),
        pytest.param("(.*)*$^", "长" * 100_000, id="stars of stars"),
    ],
)
def test_a_catastrophic_pattern_is_quick(case: Case, pattern: str, text: str) -> None:
    """RE2 is linear: what hangs a backtracking engine for minutes takes milliseconds, and is a plain no."""
    keyword_match(case, reply(""), keywords=[pattern], regex=True)
    begin = time.process_time()
    verdict = keyword_match(case, reply(text), keywords=[pattern], regex=True)
    assert time.process_time() - begin < 2
    assert verdict.passed is False


def test_a_long_hostile_reply_is_read_in_time(case: Case) -> None:
    """A reply that denies the keyword 100,000 times costs no more than reading it."""
    begin = time.process_time()
    assert keyword_match(case, reply("不红，" * 100_000), keywords=["红"]).passed is False
    assert time.process_time() - begin < 30


def test_the_order_of_words_does_not_matter(case: Case) -> None:
    said = reply("好的，内科明天上午有号。")
    forwards = keyword_match(case, said, keywords=APPOINTMENT)
    assert keyword_match(case, said, keywords=APPOINTMENT[::-1]).score == forwards.score
