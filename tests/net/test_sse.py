"""The event-stream decoder follows the WHATWG standard at every chunking, in linear time."""

from __future__ import annotations

import base64
import itertools
import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.net.sse import Decoder, Event, EventTooLarge

DEPARTS = "httpx-sse/test_iter_sse_id_retry"
"""The one published case whose expectation (an event without data) is not the standard's."""


def decode(chunks: Iterable[bytes]) -> tuple[list[Event], int | None]:
    decoder = Decoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events, decoder.retry_ms


def one_cut(body: bytes) -> Iterable[list[bytes]]:
    return ([body[:cut], body[cut:]] for cut in range(len(body) + 1))


def single(body: bytes) -> list[bytes]:
    return [body[at : at + 1] for at in range(len(body))]


def reference(body: bytes) -> tuple[list[Event], int | None]:  # noqa: C901
    """The standard read off on the whole text, block by block: HTML section 9.2.6."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    state: dict[str, str] = {"id": "", "data": "", "event": ""}
    events: list[Event] = []
    retry = None
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if state["data"]:
                events.append(Event(state["event"] or "message", state["data"][:-1], state["id"]))
            state |= {"data": "", "event": ""}
        elif name == "data":
            state["data"] += value + "\n"
        elif name == "event" or (name == "id" and "\0" not in value):
            state[name] = value
        elif name == "retry" and re.fullmatch("[0-9]+", value):
            retry = int(value)
    return events, retry


def published(shared: Path) -> list[dict[str, Any]]:
    text = (shared / "data" / "sse_cases" / "cases.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def expected(case: dict[str, Any]) -> list[Event]:
    """The published events; rows that give each block's own id have it carried over, as the standard does."""
    if case["id"] == DEPARTS:
        return []
    events, last_id = [], ""
    for row in case["expected_events"]:
        last_id = row["id"] if "id" in row else row["id_field"] or last_id
        events.append(Event(row["event"], row["data"], last_id))
    return events


def test_the_published_cases_are_all_there_and_one_departs_from_the_standard(shared: Path) -> None:
    cases = published(shared)
    assert len(cases) == 53
    assert [case["id"] for case in cases if not case["agrees_with_whatwg_rules"]] == [DEPARTS]


def test_published_cases_decode_as_delivered_and_at_every_chunking(shared: Path) -> None:
    """Sources: web-platform-tests, httpx-sse and eventsource-parser (data/sse_cases/SOURCE.txt)."""
    for case in published(shared):
        chunks = [base64.b64decode(chunk) for chunk in case["chunks_b64"]]
        body = b"".join(chunks)
        wanted = (expected(case), case["expected_retry_ms"])
        for cutting in [chunks, single(body), *one_cut(body)]:
            assert decode(cutting) == wanted, (case["id"], [len(chunk) for chunk in cutting])


STANDARD = [
    pytest.param(b"\xef\xbb\xbfdata:1\n\n", [Event("message", "1")], id="R8 one BOM is stripped"),
    pytest.param(b"\xef\xbb\xbf\xef\xbb\xbfdata:1\n\ndata:2\n\n", [Event("message", "2")], id="R8 not two"),
    pytest.param(b"data:1\n\n\xef\xbb\xbfdata:2\n\n", [Event("message", "1")], id="R8 only at the start"),
    pytest.param(b"data:\xef\xbb\xbf1\n\n", [Event("message", "\ufeff1")], id="R8 a BOM in data is data"),
    pytest.param(
        b"data:a\r\n\r\ndata:b\r\rdata:c\n\n", [Event("message", c) for c in "abc"], id="R9 mixed ends"
    ),
    pytest.param(b"data:a\r\r\n", [Event("message", "a")], id="R9 CR then CRLF is one blank line"),
    pytest.param("data:退货\n\n".encode(), [Event("message", "退货")], id="R10 UTF-8"),
    pytest.param(b"data:\xe9\x80\n\n", [Event("message", "\ufffd")], id="R10 a cut character is replaced"),
    pytest.param(
        b"data:\xe2\x80\xa8\xc2\x85\x0b\n\n", [Event("message", "\u2028\x85\x0b")], id="R10 no other ends"
    ),
    pytest.param(b"id:7\ndata:a\n\n: ping\n\n: ping\n\n", [Event("message", "a", "7")], id="R11 keep-alives"),
    pytest.param(b"event:x\n\nid:1\n\nretry:5\n\ndata:a\n\n", [Event("message", "a", "1")], id="R11 no data"),
    pytest.param(b"data\n\n", [Event("message", "")], id="R11 a data line without text is data"),
    pytest.param(b"data:a\n\ndata:ta", [Event("message", "a")], id="R12 no blank line, no event"),
    pytest.param(b"data:a\n\ndata:ta\n", [Event("message", "a")], id="R12 a whole line is no block"),
    pytest.param(b"id:1\nid:\x002\ndata:a\n\n", [Event("message", "a", "1")], id="R13 NUL in id"),
    pytest.param(
        b"id:1\ndata:a\n\nid\ndata:b\n\n", [Event("message", "a", "1"), Event("message", "b")], id="id reset"
    ),
    pytest.param(
        b'event:done\ndata:"[DONE]"\n\n', [Event("done", '"[DONE]"')], id="no space after the colon"
    ),
    pytest.param(b"data:  a\n\n", [Event("message", " a")], id="one space is eaten"),
    pytest.param(b" data:a\nDATA:b\ndata :c\n\n", [], id="names are exact"),
]


@pytest.mark.parametrize(("body", "events"), STANDARD)
def test_the_standard_holds_at_every_chunking(body: bytes, events: list[Event]) -> None:
    assert reference(body)[0] == events
    for cutting in [[body], single(body), *one_cut(body)]:
        assert decode(cutting)[0] == events


@pytest.mark.parametrize("value", ["+5", "-5", "１２", "1_000", " 5 ", "5ms", "", "1.5", "²"])
def test_retry_takes_ascii_digits_only(value: str) -> None:
    assert decode([b"retry:70\n", f"retry:{value}\n".encode()])[1] == 70


def test_retry_is_read_without_a_blank_line() -> None:
    assert decode([b"retry: 0250\n"]) == ([], 250)


def test_an_absurd_retry_is_no_error() -> None:
    assert decode([b"retry:" + b"9" * 5000 + b"\n"]) == ([], None)


def test_an_event_leaves_with_the_byte_that_ends_its_block() -> None:
    """A CR-only stream does not wait for the byte after it; a LF that then comes is part of that line end."""
    decoder = Decoder()
    assert decoder.feed(b"data:a\r") == []
    assert decoder.feed(b"\r") == [Event("message", "a")]
    assert decoder.feed(b"\n") == []
    assert decoder.feed(b"data:b\n") == []
    assert decoder.feed(b"\n") == [Event("message", "b")]


def test_an_empty_chunk_between_cr_and_lf_changes_nothing() -> None:
    decoder = Decoder()
    chunks = [b"data:a\r", b"", b"\n", b"data:b\r", b"\n\r", b"", b"\n"]
    assert [event.data for chunk in chunks for event in decoder.feed(chunk)] == ["a\nb"]


@pytest.mark.parametrize(
    ("body", "tail"),
    [
        (b"data:a\n\n", b""),
        (b"data:a\n\n: ping\n", b""),
        (b"data:a\n\ndata:ta", b"data:ta"),
        (b"data:a\n\nevent:x\ndata:ta\n", b"event:x\ndata:ta\n"),
        (b"data:a\r\n\r\ndata:\xe9\x80", b"data:\xe9\x80"),
    ],
)
def test_what_was_cut_off_stays_visible(body: bytes, tail: bytes) -> None:
    for cutting in [[body], single(body)]:
        decoder = Decoder()
        for chunk in cutting:
            decoder.feed(chunk)
        assert decoder.tail == tail


@pytest.mark.parametrize("cut", [1, 7, 10_000])
@pytest.mark.parametrize("endless", [b"data:" + b"x" * 5000, b"data:xxxx\n" * 500, b"what\n" * 900], ids=len)
def test_an_event_beyond_the_cap_is_an_error_that_keeps_the_events_before_it(
    endless: bytes, cut: int
) -> None:
    body = b"data:a\n\n" + endless
    decoder, events = Decoder(max_event_bytes=1000), []
    chunks = (body[at : at + cut] for at in range(0, len(body), cut))
    with pytest.raises(EventTooLarge, match="more than 1000 bytes") as caught:
        events.extend(event for chunk in chunks for event in decoder.feed(chunk))
    assert [*events, *caught.value.events] == [Event("message", "a")]


def test_the_cap_is_for_one_event_not_for_the_stream() -> None:
    body = (b": " + b"c" * 600 + b"\n") * 9 + (b"data:" + b"x" * 900 + b"\n\n") * 9
    for cutting in [[body], single(body)]:
        decoder = Decoder(max_event_bytes=1000)
        assert sum(len(decoder.feed(chunk)) for chunk in cutting) == 9


PIECES = [b"data", b"event", b"id", b"retry", b":", b" ", b"\r", b"\n", b"\r\n", b"\n\n", b"1", b"x", b"\0"]
PIECES += [b"\xef\xbb\xbf", b"\xe9\x80\x80", b"\xe9", b"\x80", b"data:a\n\n", b"id:1\n", b"\xe2\x80\xa8"]
BODIES = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map(b"".join), st.binary(max_size=60))


@given(BODIES, st.lists(st.integers(0, 200), max_size=8))
def test_any_chunking_gives_the_events_of_the_whole_and_of_the_plain_reading(
    body: bytes, cuts: list[int]
) -> None:
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    cutting = [body[start:end] for start, end in itertools.pairwise(edges)]
    assert decode(cutting) == decode([body]) == decode(single(body)) == reference(body)


def test_a_megabyte_fed_byte_by_byte_is_linear_work() -> None:
    """Each byte is joined once: the joins are as many as the lines, not as the bytes."""
    decoder = Decoder(max_event_bytes=1 << 21)
    body = b"data:" + b"x" * (1 << 19) + b"\ndata:" + b"y" * (1 << 19) + b"\n\n"
    calls = {"python": 0, "join": 0}

    def count(_frame: object, what: str, detail: object) -> None:
        if what == "call":
            calls["python"] += 1
        elif what == "c_call" and getattr(detail, "__name__", "") == "join":
            calls["join"] += 1

    sys.setprofile(count)
    try:
        for at in range(len(body)):
            decoder.feed(body[at : at + 1])
    finally:
        sys.setprofile(None)
    assert calls["join"] <= 2 * 3 + 1
    assert calls["python"] <= 3 * len(body)


def test_a_block_with_a_name_and_no_data_is_an_event_only_where_asked_for() -> None:
    """LangServe ends its streams with one; by the standard it is never dispatched."""
    stream = b": c\n\nevent: end\r\n\r\nid: 7\n\n"
    assert Decoder().feed(stream) == []
    assert [(event.event, event.data) for event in Decoder(bare_events=True).feed(stream)] == [("end", "")]
