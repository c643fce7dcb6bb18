"""Bytes to JSON: one object a line, understood the same by every reader, or refused with a reason."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.reading import decode
from evalkit.reading.decoding import MAX_DEPTH, json_value, too_deep

NUMBER = "a finite number or null"


def refusal(raw: bytes) -> tuple[str, str]:
    """What was found and what was wanted."""
    with pytest.raises(ValueError) as error:
        decode(raw)
    found, wanted = error.value.args
    return found, wanted


@pytest.mark.parametrize(
    ("raw", "found", "wanted"),
    [
        pytest.param(b'{"a":NaN}', "NaN", NUMBER, id="NaN"),
        pytest.param(b'{"a":Infinity}', "Infinity", NUMBER, id="Infinity"),
        pytest.param(b'{"a":-Infinity}', "-Infinity", NUMBER, id="-Infinity"),
        pytest.param(b'{"a":1e400}', "the number 1e400", "a finite number", id="1e400"),
        pytest.param(b'{"a":-1e400}', "the number -1e400", "a finite number", id="-1e400"),
        pytest.param(b'{"id":1,"id":2}', "the key 'id' twice", "each key once", id="duplicate key"),
        pytest.param(b'{"a":[{"x":1,"y":2,"x":1}]}', "the key 'x' twice", "each key once", id="nested key"),
        pytest.param(b'{"a":1}{"b":2}', "Extra data", "one JSON object", id="two objects"),
        pytest.param(b'{"a":2}TRAILER', "Extra data", "one JSON object", id="trailer"),
        pytest.param(b"[1,2]", "a JSON array", "a JSON object", id="array"),
        pytest.param(b'"x"', "a JSON string", "a JSON object", id="string"),
        pytest.param(b"3", "a JSON number", "a JSON object", id="integer"),
        pytest.param(b"3.5", "a JSON number", "a JSON object", id="fraction"),
        pytest.param(b"true", "a JSON boolean", "a JSON object", id="boolean"),
        pytest.param(b"null", "a JSON null", "a JSON object", id="null"),
        pytest.param(b"", "Expecting value", "one JSON object", id="nothing"),
        pytest.param(b'{"a":"\x01"}', "Invalid control character", "one JSON object", id="control"),
        pytest.param(b"\xff\xfe{\x00}\x00", "a UTF-16 byte order mark", "UTF-8 text", id="UTF-16 LE"),
        pytest.param(b"\xfe\xff\x00{\x00}", "a UTF-16 byte order mark", "UTF-8 text", id="UTF-16 BE"),
        pytest.param(b"\x1f\x8b\x08\x00", "a gzip file", "UTF-8 text", id="gzip"),
        pytest.param(
            b'{"a":"\xed\xa0\xbd"}',
            "an invalid UTF-8 byte 0xed at offset 6",
            "UTF-8 text",
            id="raw surrogate",
        ),
    ],
)
def test_what_two_readers_could_read_differently_is_refused(raw: bytes, found: str, wanted: str) -> None:
    assert refusal(raw) == (found, wanted)


@pytest.mark.parametrize("digits", ["9007199254740991", "-9007199254740991", "0", "-0", "1" + "0" * 15])
def test_integers_that_a_double_holds_are_read_exactly(digits: str) -> None:
    assert decode(f'{{"a":{digits}}}'.encode()) == {"a": int(digits)}


@pytest.mark.parametrize(
    "digits", ["9007199254740992", "-9007199254740992", "1" * 17, "1" * 23, "-" + "1" * 23, "9" * 5000]
)
def test_integers_of_2_to_the_53_and_more_are_refused(digits: str) -> None:
    """2^53 is the first integer that a double shares with its neighbour (IEEE 754 binary64)."""
    found, wanted = refusal(f'{{"a":{digits}}}'.encode())
    assert found == f"the integer {digits[:24]}"
    assert wanted == "an integer below 2^53, or a string"


def _nested(depth: int) -> bytes:
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


def test_depth_64_is_read_and_depth_65_is_refused() -> None:
    assert MAX_DEPTH == 64
    assert "a" in decode(_nested(64))
    assert refusal(_nested(65)) == ("nesting deeper than 64", "flatter JSON")


@pytest.mark.parametrize(
    "brackets", [b"[" * 200_000, b'{"a":' * 200_000, b"[{" * 100_000], ids=["[", "{", "[{"]
)
def test_200_000_brackets_are_refused_without_recursion(brackets: bytes) -> None:
    assert refusal(brackets) == ("nesting deeper than 64", "flatter JSON")


@pytest.mark.parametrize(
    "text",
    ["[" * 500, '"[' * 100, "\\" * 3 + "[" * 100, '\\"[{' * 100, "}" * 100 + "{" * 100],
    ids=["plain", "quotes", "backslashes", "escaped quotes", "closing first"],
)
def test_brackets_within_strings_do_not_count(text: str) -> None:
    line = json.dumps({text: [text, {"a": text}]}).encode()
    assert decode(line) == {text: [text, {"a": text}]}


def test_many_brackets_side_by_side_are_flat() -> None:
    assert decode(b'{"a":[' + b"[]," * 500 + b"{}]}") == {"a": [[]] * 500 + [{}]}


@given(
    st.recursive(
        st.none() | st.text('"\\[]{}a', max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text('"\\[{', max_size=3), inner, max_size=3)
        ),
        max_leaves=40,
    ),
    st.integers(60, 68),
)
def test_the_depth_is_that_of_the_value(value: object, levels: int) -> None:
    """The scan of brackets agrees with the walk through the parsed value."""

    def depth(item: object) -> int:
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
        return isinstance(item, (dict, list)) + max(map(depth, inner), default=0)

    for _ in range(levels - 4):
        value = [value]
    assert too_deep(json.dumps([value, [[]] * 70])) == (1 + max(depth(value), 2) > MAX_DEPTH)


@pytest.mark.parametrize(
    "text", ['"' + '\\"' * 50_000, '"' * 100_001, '"\\' * 50_000], ids=["escaped", "bare", "odd"]
)
def test_strings_without_end_cost_no_more_than_their_length(text: str) -> None:
    """A quadratic scan of these would take minutes."""
    assert not too_deep("[" * 10 + text + "]" * 100 + "[" * 60)
    assert refusal(text.encode())[1] == "one JSON object"


def test_the_repeated_key_of_a_large_object_is_found_at_once() -> None:
    """A search that counts each key would take hours."""
    keys = ",".join(f'"{number}":1' for number in range(100_000))
    assert refusal(f'{{{keys},"99999":2}}'.encode())[0] == "the key '99999' twice"


def test_a_long_key_is_cut_in_the_message() -> None:
    key = "k" * 100_000
    assert len(refusal(f'{{"{key}":1,"{key}":2}}'.encode())[0]) < 120


def test_a_hostile_key_cannot_paint_the_terminal() -> None:
    found, _ = refusal(b'{"\\u001b[31m":1,"\\u001b[31m":2}')
    assert found == "the key '\\x1b[31m' twice"


LINE = json.dumps({"text": "x" * (1024 - 12)}).encode()


@pytest.mark.parametrize("offset", range(0, 1024, 1), ids=lambda offset: f"{offset}")
def test_an_invalid_byte_is_named_wherever_it_stands(offset: int) -> None:
    assert len(LINE) == 1024
    raw = LINE[:offset] + b"\xff" + LINE[offset + 1 :]
    assert refusal(raw) == (f"an invalid UTF-8 byte 0xff at offset {offset}", "UTF-8 text")


def test_an_escaped_lone_surrogate_is_a_text() -> None:
    """RFC 8259, section 8.2: the grammar allows it; what to do with it is the reader's business."""
    assert decode(b'{"a":"\\ud83d!"}') == {"a": "\ud83d!"}


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85", "\u3000", "\ufeff", "\x7f"], ids=ascii)
def test_odd_characters_pass_through(char: str) -> None:
    assert decode(f'{{"a":"{char}"}}'.encode()) == {"a": char}


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_an_object_or_a_refusal_with_two_parts(raw: bytes) -> None:
    try:
        value = decode(raw)
    except ValueError as error:
        found, wanted = error.args
        assert isinstance(found, str)
        assert isinstance(wanted, str)
    else:
        assert json.loads(raw) == value


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_all_json_within_the_bounds_is_read(value: object) -> None:
    assert json_value(json.dumps(value, ensure_ascii=False).encode()) == value


def test_numbers_too_small_for_a_double_are_zero() -> None:
    assert decode(b'{"a":1e-400}') == {"a": 0.0}
    assert math.copysign(1, decode(b'{"a":-0.0}')["a"]) == -1
