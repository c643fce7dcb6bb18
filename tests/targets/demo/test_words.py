"""What two texts have in common."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.targets.demo.words import content_terms, folded, terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("退货", ["退", "货", "退货"]),
        ("", []),
        ("？！", []),
        ("E-12", ["e12", "e", "12"]),
        ("e12", ["e12", "e", "12"]),
        ("X5 Pro", ["x5", "x", "5", "pro"]),
        ("１２８ＧＢ", ["128gb", "128", "gb"]),
        ("100", ["100"]),
        ("买Buds3", ["买", "buds3", "buds", "3"]),
    ],
    ids=["pair", "empty", "marks", "code", "code-without-joint", "model", "full-width", "number", "mixed"],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_grammar_alone_is_no_content() -> None:
    assert content_terms("的吗") == ["的吗"]
    assert "的" not in content_terms("我的手机")


@given(st.text())
def test_width_and_case_change_nothing(text: str) -> None:
    assert terms(folded(text)) == terms(text)
