"""How words are found: width, case, spacing, numbers as a whole, and denials."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.finding.denial import negated
from evalkit.finding.folding import fold
from evalkit.rules.words import spans


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("ＡＢＣ１２３", "abc123", id="full width"),
        pytest.param("Straße", "STRASSE", id="case folding"),
        pytest.param("ﬀ㌔", "ffキロ", id="compatibility forms"),
        pytest.param("cafe\u0301", "café", id="composition"),
        pytest.param("退\u200b货", "退货", id="zero-width space"),
        pytest.param("建国路 88 号", "建国路88号", id="spaces beside Chinese"),
        pytest.param("红色,蓝色", "红色，蓝色", id="commas"),
    ],
)
def test_what_reads_alike_folds_alike(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("88，100", "88,100", id="a list is no grouped number"),
        pytest.param("a b", "ab", id="spaces between Latin words"),
        pytest.param("1 2", "12", id="spaces between digits"),
    ],
)
def test_what_reads_differently_stays_different(one: str, other: str) -> None:
    assert fold(one) != fold(other)


@given(st.text())
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("word", "text", "there"),
    [
        pytest.param("1380013800", "13800138000", False, id="part of a longer number"),
        pytest.param("13800138000", "电话13800138000。", True, id="the number itself"),
        pytest.param("5", "共15件", False, id="last digit"),
        pytest.param("13", "13.5元", False, id="whole part of a decimal"),
        pytest.param("5", "13.5元", False, id="fraction of a decimal"),
        pytest.param("13", "一共13.", True, id="full stop"),
        pytest.param("500", "1,500元", False, id="group of a number"),
        pytest.param("1", "1,500元", False, id="head of a grouped number"),
        pytest.param("88", "地址88，100元", True, id="Chinese comma after"),
        pytest.param("100", "地址88，100元", True, id="Chinese comma before"),
        pytest.param("3", "选项2,3", True, id="list of digits"),
        pytest.param("7天", "17天内", False, id="number with a unit"),
        pytest.param("7天", "支持7天内退货", True, id="with a unit, whole"),
        pytest.param("退货", "退货退货", True, id="no number"),
    ],
)
def test_a_keyword_of_digits_is_a_whole_number(word: str, text: str, *, there: bool) -> None:
    """Hazard: keyword counting, `1380013800` is not in `13800138000`."""
    assert bool(list(spans(fold(word), fold(text)))) is there


DENIED = [
    "不是红色",
    "不要红色",
    "没有红色",
    "并非红色",
    "不支持红色",
    "不能红色",
    "别红色",
    "这不是“红色”的",
    "无红色",
    "不太红色",
]
SAID = [
    "是红色",
    "红色",
    "特别红色",
    "除非红色",
    "要不红色",
    "不是蓝色，是红色",
    "不是不红色",
    "是不是红色",
    "有没有红色",
    "要不要红色",
    "红色不好吗",
    "没货了。红色有货",
]


@pytest.mark.parametrize("text", DENIED)
def test_denied_words_are_negated(text: str) -> None:
    assert negated(text, text.index("红色"))


@pytest.mark.parametrize("text", SAID)
def test_words_that_stand_are_not_negated(text: str) -> None:
    assert not negated(text, text.index("红色"))


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("it is not red", True),
        ("it isn't red", True),
        ("we do not offer red", True),
        ("a knot red", False),
        ("non-red", True),
        ("it is red", False),
    ],
)
def test_english_denials(text: str, *, denied: bool) -> None:
    assert negated(text, text.index("red")) is denied
