"""What is unseen is spelled out, and what is long is cut between characters."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.report.text import CAP_BYTES, capped, is_chinese, one_line, storable, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("可以退货。", "可以退货。"),
        ("a\nb\tc", "a\nb\tc"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\rb", "a\\x0db"),
        ("\x9b", "\\x9b"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u200bb", "a\\u200bb"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("👍🏽", "👍🏽"),
    ],
    ids=[
        "Chinese",
        "newline and tab",
        "escape",
        "return",
        "C1",
        "override",
        "zero width",
        "tag",
        "half",
        "emoji",
    ],
)
def test_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_every_character_that_controls_or_formats_is_spelled_out() -> None:
    """By the Unicode categories Cc, Cf, Zl, Zp and Cs, all but newline, tab and the number signs, which are seen."""
    hidden = {
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"}
    } - {"\n", "\t"}
    signs = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
    assert not [char for char in hidden - signs if visible(char) == char]


@given(st.text())
def test_visible_text_stays_as_it_is(text: str) -> None:
    assert visible(visible(text)) == visible(text)


@given(st.text())
def test_one_line_has_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(st.characters(), max_size=60), st.integers(min_value=0, max_value=80))
def test_capped_loses_no_byte(text: str, limit: int) -> None:
    """Head and cut make up the whole; the head ends between characters and is as long as may be."""
    head, cut = capped(text, limit)
    raw = text.encode("utf-8", "surrogatepass")
    assert text.startswith(head)
    assert len(head.encode("utf-8", "surrogatepass")) + cut == len(raw)
    assert len(head.encode("utf-8", "surrogatepass")) <= max(limit, 0)
    assert not cut or len(raw) - cut > limit - 4


def test_fifty_megabytes_are_cut_to_eight_kibibytes() -> None:
    head, cut = capped("退" * (50 * 2**20 // 3))
    assert len(head.encode()) <= CAP_BYTES
    assert cut > 49 * 2**20


@pytest.mark.parametrize(
    ("text", "is_so"), [("退货", True), ("S14_退换货咨询", True), ("return", False), ("", False)]
)
def test_is_chinese(text: str, is_so: bool) -> None:  # noqa: FBT001
    assert is_chinese(text) is is_so


@given(st.text(st.characters()))
def test_storable_is_utf8(text: str) -> None:
    assert storable(text).encode("utf-8").decode("utf-8") == storable(text)
