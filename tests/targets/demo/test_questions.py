"""Several questions in one message."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.targets.demo.questions import asks, refers_back, sub_questions


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("耳机能退吗", ("耳机能退吗",)),
        ("保修多久？能上门修吗？", ("保修多久？", "能上门修吗？")),
        ("怎么开发票，另外运费多少钱", ("怎么开发票", "另外运费多少钱")),
        ("我上周买的手机。屏幕碎了能修吗？", ("我上周买的手机。屏幕碎了能修吗？",)),
        ("能退吗？我还没拆封。", ("能退吗？我还没拆封。",)),
        ("你好", ("你好",)),
        (
            "保修多久？运费谁出？几天到账？能开发票吗？",
            ("保修多久？", "运费谁出？", "几天到账？能开发票吗？"),
        ),
    ],
    ids=["one", "marks", "connective", "setting", "afterthought", "no-question", "at-most-three"],
)
def test_sub_questions(message: str, expected: tuple[str, ...]) -> None:
    assert sub_questions(message) == expected


@given(st.text(alphabet="退货运费吗？。，另外还有怎么 你好多少\n", min_size=1, max_size=60))
def test_no_character_that_says_something_is_lost(message: str) -> None:
    def said(text: str) -> str:
        return "".join(character for character in text if character not in " ,，、\n")

    parts = sub_questions(message)
    assert 1 <= len(parts) <= 3
    assert said("".join(parts)) == said(message)


@pytest.mark.parametrize(("text", "expected"), [("能退吗", True), ("帮我查单", True), ("好的", False)])
def test_asks(text: str, expected: bool) -> None:  # noqa: FBT001
    assert asks(text) is expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [("那手机呢？", True), ("它支持快充吗", True), ("手机保修多久", False), ("那我想预约维修", False)],
)
def test_refers_back(question: str, expected: bool) -> None:  # noqa: FBT001
    assert refers_back(question) is expected
