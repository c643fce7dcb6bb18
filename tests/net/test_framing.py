"""One event a line, however the bytes are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.net.framing import Lines
from evalkit.net.sse import Event, EventTooLarge

STREAM = '0:"可以"\r\n\n9:{"a":1}\nno code\nd:{}\n0:"cut'.encode()
EVENTS = [("0", '"可以"'), ("9", '{"a":1}'), ("", "no code"), ("d", "{}")]


@given(st.lists(st.integers(0, len(STREAM)), max_size=10))
def test_lines_are_the_same_at_every_cut(cuts: list[int]) -> None:
    lines, found, ends = Lines(coded=True), list[Event](), sorted({*cuts, len(STREAM)})
    for start, end in zip([0, *ends], ends, strict=False):
        found += lines.feed(STREAM[start:end])
    assert [(event.event, event.data) for event in found] == EVENTS
    assert lines.tail == b'0:"cut'


def test_without_codes_all_of_a_line_is_data() -> None:
    assert [event.data for event in Lines(coded=False).feed(b'{"a": 1}\n{"b": 2}\n')] == [
        '{"a": 1}',
        '{"b": 2}',
    ]


def test_a_line_beyond_the_cap_is_refused_with_the_whole_ones_before_it() -> None:
    with pytest.raises(EventTooLarge) as raised:
        Lines(coded=True, max_event_bytes=8).feed(b"0:1\n0:123456789")
    assert [event.data for event in raised.value.events] == ["1"]
