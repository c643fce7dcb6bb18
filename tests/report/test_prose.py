"""Text is folded by the width of its characters: Chinese anywhere but before the punctuation that ends a part."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType

from evalkit.report.prose import Prose, breaks
from evalkit.report.rich_tables import cell, label, table

ANSWER = "上网课选星河平板 11 的128GB版就够；要装很多课程和游戏，再选256GB版。"


def folded(text: str, width: int, *, hang: int = 0) -> list[str]:
    ends = [0, *breaks(text, width, hang=hang), len(text)]
    return [text[begin:end] for begin, end in pairwise(ends)]


def printed(view: RenderableType, *, width: int) -> list[str]:
    sink = io.StringIO()
    Console(file=sink, width=width).print(Group(view))
    return [line.rstrip() for line in sink.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        pytest.param("", 10, [""], id="nothing"),
        pytest.param("right of course", 10, ["right of ", "course"], id="words"),
        pytest.param("七天内可以退", 8, ["七天内可", "以退"], id="Chinese"),
        pytest.param(
            "平板 11 的128GB版就够", 16, ["平板 11 的128GB", "版就够"], id="a space is no place to end"
        ),
        pytest.param("可以退吗？可以", 8, ["可以退", "吗？可以"], id="no line begins with an end"),
        pytest.param("见《退货规则》", 4, ["见", "《退", "货规", "则》"], id="no line ends with a beginning"),
        pytest.param("abcdefghij", 4, ["abcd", "efgh", "ij"], id="a word wider than a line"),
        pytest.param("  退货", 4, ["  退", "货"], id="spaces at the beginning stay"),
    ],
)
def test_a_text_is_folded_where_it_may_be(text: str, width: int, lines: list[str]) -> None:
    assert folded(text, width) == lines


@given(st.text(), st.integers(4, 40), st.integers(0, 2))
def test_no_character_is_lost_and_no_line_too_wide(text: str, width: int, hang: int) -> None:
    lines = folded(text, width, hang=hang)
    assert "".join(lines) == text
    for number, line in enumerate(lines):
        assert cell_len(line.rstrip()) <= width - (hang if number else 0)


def test_an_answer_fills_its_lines() -> None:
    lines = printed(Prose(ANSWER), width=40)
    assert lines == ["上网课选星河平板 11 的128GB版就够；要装", "很多课程和游戏，再选256GB版。"]


def test_later_lines_hang_under_the_first() -> None:
    found = cell(f"1. {ANSWER}", hang=3).append("  +20 points", "green")
    lines = printed(found, width=40)
    assert lines == [
        "1. 上网课选星河平板 11 的128GB版就够；要",
        "   装很多课程和游戏，再选256GB版。  +20",
        "   points",
    ]


def test_lines_of_a_text_stay_lines() -> None:
    assert printed(Prose("一\n\n\t二"), width=20) == ["一", "", "        二"]


def test_a_name_that_has_no_room_is_cut_and_the_numbers_are_whole() -> None:
    found = table("intent", "mean>", "counted>", "taken for", ">")
    for name in ("S14_退换货与七天无理由退货以及运费险相关的咨询问题", "S2_商品详情"):
        found.add_row(label(name, indent=2), "100.0%", "1,234/1,234", label(name), "33 of 100")
    lines = printed(found, width=60)
    assert len(lines) == 3
    assert max(map(cell_len, lines)) <= 60
    for line in lines[1:]:
        assert line.startswith("  S")
        assert all(part in line for part in ("100.0%", "1,234/1,234", "33 of 100"))
    assert "…" in lines[1]
    assert "S2_商品详情" in lines[2]
