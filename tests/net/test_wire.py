"""Text and JSON from the wire are read strictly, and stored so that any reader takes them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.contracts import Observation
from evalkit.net.wire import decoded, excerpt, joined, storable


def halves(text: str) -> list[str]:
    """The text as a server that counts UTF-16 units would cut it."""
    raw = text.encode("utf-16-le", "surrogatepass")
    return [raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2)]


@given(st.text())
def test_surrogate_pairs_cut_apart_are_joined_again(text: str) -> None:
    assert joined(halves(text)) == (text, False)


@given(st.lists(st.one_of(st.text(), st.characters(categories=["Cs"]))))
def test_what_is_stored_can_always_be_written_and_read(parts: list[str]) -> None:
    text = joined(parts).text
    seen = Observation(response=text, tool_calls=({"name": "t", "arguments": storable({text: parts})},))
    assert Observation.model_validate_json(seen.model_dump_json()) == seen
    text.encode("utf-8")


@pytest.mark.parametrize(
    ("parts", "text", "lone"),
    [
        (["😀"], "😀", False),
        (["\ud83d", "\ude00"], "😀", False),
        (["好\ud83d"], "好\\ud83d", True),
        (["\ude00", "\ud83d"], "\\ude00\\ud83d", True),
        (["\ud83d", "\ud83d", "\ude00"], "\\ud83d😀", True),
        (["\\ud83d"], "\\ud83d", False),
        ([], "", False),
    ],
)
def test_a_lone_surrogate_is_written_out_and_told(parts: list[str], text: str, lone: bool) -> None:  # noqa: FBT001
    assert joined(parts) == (text, lone)


@pytest.mark.parametrize(
    "text",
    [
        "NaN",
        "[Infinity]",
        '{"a":-Infinity}',
        "1e400",
        "-1e999",
        "",
        "{",
        "{}{}",
        "'a'",
        "9" * 5000,
        "[" * 65 + "]" * 65,
    ],
    ids=lambda text: text[:12],
)
def test_json_that_no_record_could_hold_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        decoded(text)


@pytest.mark.parametrize(
    "body", [b'"\xff"', b"[" * 200_000, '{"a":1}'.encode("utf-16")], ids=["latin", "deep", "utf-16"]
)
def test_bytes_that_are_no_json_are_an_error(body: bytes) -> None:
    with pytest.raises(ValueError):
        decoded(body)


def test_json_within_the_bounds_is_read() -> None:
    assert decoded(b'\xef\xbb\xbf{"a":[1,2.5,null,true,"\xe9\x80\x80"]}') == {"a": [1, 2.5, None, True, "退"]}
    assert decoded("[" * 64 + "]" * 64) == json.loads("[" * 64 + "]" * 64)


def test_an_excerpt_is_the_first_two_kibibytes() -> None:
    assert excerpt(b"x" * 9000) == "x" * 2048
    assert excerpt("\ud83d") == "\ufffd" * 3
    assert excerpt(b"\xe9\x80") == "\ufffd"
