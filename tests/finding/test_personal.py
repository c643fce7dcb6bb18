"""What is private is found by its form, and hidden wherever a text is shown to others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.finding.personal import masked, personal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("电话13800138000。", "电话138****8000。"),
        ("138 0013 8000", "138****8000"),
        ("138-0013-8000", "138****8000"),
        ("+8613800138000", "+86138****8000"),
        ("+86 13800138000", "+86 138****8000"),
        ("订单 E2026081001", "订单 E2026081001"),
        ("1380013800", "1380013800"),
        ("138001380001", "138001380001"),
        ("12800138000", "12800138000"),
        ("电话１３８００１３８０００", "电话１３８****８０００"),
        ("tel13800138000", "tel138****8000"),
        ("138\u200b00138000", "138\u200b****8000"),
        ("卡号 6222 0212 3456 7894", "卡号 6222********7894"),
        ("包裹 6222021234567895", "包裹 6222021234567895"),
        ("身份证 11010519491231002X", "身份证 110105********002X"),
        ("邮箱 zhang.san@example.com", "邮箱 z***@example.com"),
        ("２ 13800138000", "２ 138****8000"),
    ],
    ids=[
        "mobile",
        "with blanks",
        "with hyphens",
        "glued to a country code",
        "after a country code",
        "an order",
        "too short",
        "too long",
        "no mobile prefix",
        "full width",
        "glued to a word",
        "with an unseen character",
        "bank card",
        "a parcel: wrong Luhn digit",
        "identity number",
        "e-mail",
        "beside other digits",
    ],
)
def test_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@given(st.text(alphabet="0123456789xX -@.aA民，１８\u200b", max_size=60))
def test_nothing_that_is_found_is_shown(text: str) -> None:
    """Hazard K8: whatever the rule finds, the pages hide."""
    shown = {datum.value for datum in personal(masked(text))}
    assert not shown & {datum.value for datum in personal(text)}


@given(st.text(alphabet="abc 民，。", max_size=40))
def test_a_text_without_numbers_stays_as_it_is(text: str) -> None:
    assert masked(text) == text
