"""HTTP/1.1 read from bytes: held against h11 where it reads, stricter where two readers could differ."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import h11
import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evalkit.net.http1 import ResponseReader, request_bytes


class Read(NamedTuple):
    """What a reader made of a connection's bytes, which then ended."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def ours(parts: list[bytes], *, method: str = "GET", ended: bool = True) -> Read | None:
    """As evalkit reads it; None where it refuses."""
    reader, pieces = ResponseReader(method), list[bytes]()
    try:
        for part in parts:
            reader.feed(part, pieces)
        if ended:
            reader.end()
    except httpx.RemoteProtocolError:
        return None
    if reader.head is None or not reader.done:
        return None
    assert all(pieces)
    return Read(reader.head.status, told(reader.head.headers), b"".join(pieces))


def theirs(data: bytes, *, method: str = "GET") -> Read | None:
    """As h11 reads it; None where it refuses."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=1 << 20)
    connection.send(h11.Request(method=method, target="/", headers=[("Host", "shop.test")]))
    connection.send(h11.EndOfMessage())
    events: list[Any] = []
    try:
        for part in (data, b""):
            connection.receive_data(part)
            while not _over(events) and (event := connection.next_event()) is not h11.NEED_DATA:
                events.append(event)
    except h11.RemoteProtocolError:
        pass  # what came before may be a whole response
    if not any(isinstance(event, h11.EndOfMessage) for event in events):
        return None
    head = next(event for event in events if isinstance(event, h11.Response))
    body = b"".join(bytes(event.data) for event in events if isinstance(event, h11.Data))
    return Read(head.status_code, told(head.headers), body)


_LAST = (h11.EndOfMessage, h11.ConnectionClosed)


def _over(events: list[Any]) -> bool:
    return bool(events) and (events[-1] is h11.PAUSED or isinstance(events[-1], _LAST))


def told(headers: Any) -> list[tuple[bytes, bytes]]:
    """The headers but for those of the body's length, which h11 rewrites; the body itself is compared."""
    pairs = [(bytes(name).lower(), bytes(value)) for name, value in headers]
    return [pair for pair in pairs if pair[0] not in {b"content-length", b"transfer-encoding"}]


OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
SOUND = {
    "length": OK + b"Content-Length: 6\r\n\r\n\xe9\x80\x80\xe8\xb4\xa7",
    "nothing": OK + b"Content-Length: 0\r\n\r\n",
    "length told twice alike": OK + b"Content-Length: 2\r\ncontent-length: 2, 2\r\n\r\nok",
    "chunks": CHUNKED + b"3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n",
    "chunk extension": CHUNKED + b"3;a=b;c\r\nabc\r\n0;last\r\n\r\n",
    "trailers": CHUNKED + b"1\r\na\r\n0\r\nX-Sum: 1\r\nX-Other: 2\r\n\r\n",
    "until the end": OK + b"Content-Type: text/event-stream\r\n\r\ndata:a\n\n",
    "an older server": b"HTTP/1.0 200 OK\r\n\r\nhello",
    "no reason": b"HTTP/1.1 204\r\n\r\n",
    "not modified": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"
    + OK
    + b"Content-Length: 1\r\n\r\na",
    "values as they are": OK
    + b"X-A: \t two  words \t\r\nX-Empty:\r\nX-\xe9: 1\r\n".replace(b"X-\xe9", b"X-E")
    + b"X-Bytes: \xe9\x80\x80\r\nContent-Length: 0\r\n\r\n",
}
REFUSED = {
    "no http": b"<html>\r\n\r\n",
    "an older protocol": b"HTTP/0.9 200 OK\r\n\r\n",
    "a newer protocol": b"HTTP/2.0 200 OK\r\n\r\n",
    "no status": b"HTTP/1.1 2x0 OK\r\n\r\n",
    "a tab in the status line": b"HTTP/1.1\t200 OK\r\n\r\n",
    "line feeds alone": b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
    "one line feed alone": OK + b"X: 1\nContent-Length: 0\r\n\r\n",
    "a carriage return alone": OK + b"X: 1\rContent-Length: 0\r\n\r\n",
    "a folded header": OK + b"X: 1\r\n 2\r\nContent-Length: 0\r\n\r\n",
    "a space before the colon": OK + b"Content-Length : 0\r\n\r\n",
    "no colon": OK + b"Content-Length\r\n\r\n",
    "no name": OK + b": 1\r\n\r\n",
    "a zero byte": OK + b"X: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "two lengths": OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "two lengths in one": OK + b"Content-Length: 1, 2\r\n\r\nab",
    "a signed length": OK + b"Content-Length: +2\r\n\r\nab",
    "a length in other digits": OK + "Content-Length: ２\r\n\r\nab".encode(),
    "a length with an underscore": OK + b"Content-Length: 1_0\r\n\r\n0123456789",
    "an endless length": OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n",
    "length and chunks": OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another coding": OK + b"Transfer-Encoding: gzip\r\n\r\nx",
    "two codings": OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks of an older server": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a size in no number": CHUNKED + b"xyz\r\nabc\r\n0\r\n\r\n",
    "a size with a prefix": CHUNKED + b"0x3\r\nabc\r\n0\r\n\r\n",
    "a signed size": CHUNKED + b"+3\r\nabc\r\n0\r\n\r\n",
    "no size": CHUNKED + b"\r\nabc\r\n0\r\n\r\n",
    "a size beyond all": CHUNKED + b"1" * 17 + b"\r\n",
    "a space after the size": CHUNKED + b"3 \r\nabc\r\n0\r\n\r\n",
    "a size that ends in a line feed": CHUNKED + b"3\nabc\r\n0\r\n\r\n",
    "an extension with a line feed": CHUNKED + b"3;a\nb\r\nabc\r\n0\r\n\r\n",
    "a chunk longer than its size": CHUNKED + b"3\r\nabcd\r\n0\r\n\r\n",
    "a chunk shorter than its size": CHUNKED + b"3\r\nab\r\n0\r\n\r\n",
    "a trailer without colon": CHUNKED + b"0\r\nX\r\n\r\n",
    "a folded trailer": CHUNKED + b"0\r\nX: 1\r\n 2\r\n\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "interim for ever": b"HTTP/1.1 100 Continue\r\n\r\n" * 17 + OK + b"\r\n",
    "a cut head": OK + b"X: ",
    "a cut body": OK + b"Content-Length: 3\r\n\r\nab",
    "cut chunks": CHUNKED + b"3\r\nabc\r\n",
    "nothing at all": b"",
}


@pytest.mark.parametrize("data", SOUND.values(), ids=SOUND)
def test_a_sound_response_is_read_as_h11_reads_it_wherever_it_is_cut(data: bytes) -> None:
    wanted = theirs(data)
    assert wanted is not None
    assert ours([data]) == wanted
    assert ours([data[at : at + 1] for at in range(len(data))]) == wanted
    for at in range(1, len(data)):
        assert ours([data[:at], data[at:]]) == wanted


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_can_be_read_in_two_ways_or_none_is_refused_wherever_it_is_cut(data: bytes) -> None:
    assert ours([data]) is None
    assert ours([data[at : at + 1] for at in range(len(data))]) is None


@pytest.mark.parametrize(
    "name",
    [
        "no http",
        "line feeds alone",
        "a size in no number",
        "a size that ends in a line feed",
        "a folded header",
    ],
)
def test_it_is_refused_at_once_not_when_the_server_ends(name: str) -> None:
    """A connection that stays open after such bytes must not hold the exchange until its deadline."""
    with pytest.raises(httpx.RemoteProtocolError):
        ResponseReader("GET").feed(REFUSED[name], [])


@pytest.mark.parametrize(
    "endless",
    [
        (OK + b"X: ", b"a" * 1000),
        (OK, b"X: a\r\n" * 100),
        (CHUNKED + b"3;", b"a" * 1000),
        (CHUNKED + b"0\r\n", b"X: a\r\n" * 100),
        (CHUNKED + b"0\r\nX: ", b"a" * 1000),
    ],
    ids=["header", "headers", "extension", "trailers", "trailer"],
)
def test_what_has_no_end_is_refused_early(endless: tuple[bytes, bytes]) -> None:
    begin, more = endless
    assert ours([begin, *([more] * 200)], ended=False) is None
    reader = ResponseReader("GET")
    with pytest.raises(httpx.RemoteProtocolError):
        reader.feed(begin + more * 200, [])


def test_pieces_before_a_broken_chunk_are_kept() -> None:
    pieces = list[bytes]()
    with pytest.raises(httpx.RemoteProtocolError):
        ResponseReader("GET").feed(CHUNKED + b"1\r\na\r\n1\r\nb\r\nzz\r\n", pieces)
    assert pieces == [b"a", b"b"]


def test_a_response_to_head_has_no_body() -> None:
    data = OK + b"Content-Length: 7\r\n\r\n"
    assert ours([data], method="HEAD", ended=False) == theirs(data, method="HEAD")


@pytest.mark.parametrize(
    ("data", "reusable"),
    [
        (OK + b"Content-Length: 1\r\n\r\na", True),
        (CHUNKED + b"0\r\n\r\n", True),
        (OK + b"Content-Length: 1\r\n\r\nab", False),
        (OK + b"Content-Length: 1\r\n\r\na" + OK, False),
        (OK + b"Connection: Keep-Alive, Close\r\nContent-Length: 1\r\n\r\na", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", False),
        (OK + b"Content-Length: 2\r\n\r\na", False),
    ],
    ids=["length", "chunks", "a byte too many", "two responses", "close", "an older server", "not whole"],
)
def test_a_connection_serves_again_only_after_one_whole_response(data: bytes, *, reusable: bool) -> None:
    reader = ResponseReader("GET")
    reader.feed(data, [])
    assert reader.reusable is reusable


def test_a_body_that_ends_with_the_connection_leaves_none_to_use() -> None:
    reader = ResponseReader("GET")
    reader.feed(SOUND["until the end"], [])
    reader.end()
    assert (reader.done, reader.reusable) == (True, False)


def test_a_megabyte_byte_by_byte_takes_linear_time() -> None:
    """Four times the bytes, about four times the work: counted in bytes held, which never grow."""
    reader, pieces = ResponseReader("GET"), list[bytes]()
    reader.feed(CHUNKED, pieces)
    body = b"%x\r\n%b\r\n" % (1 << 20, b"x" * (1 << 20)) + b"0\r\n\r\n"
    held = 0
    for at in range(len(body)):
        reader.feed(body[at : at + 1], pieces)
        held = max(held, len(reader._rest))
    assert reader.done
    assert (len(pieces), held) == (1 << 20, 7)


TOKENS = [
    b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/1.1 204", b"HTTP/1.1 100 Continue", b"HTTP/1.1 599 X Y",
    b"\r\n", b"\r\n", b"\r\n\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b";", b"\x00", b"\xff",
    b"Content-Length", b"Content-Length: 3\r\n", b"Content-Length: 0", b"Transfer-Encoding: chunked\r\n",
    b"transfer-encoding", b"chunked", b"gzip", b"Connection: close\r\n", b"X: y\r\n",
    b"3", b"0", b"a", b"A", b"10", b"-1", b"abc", b"3\r\nabc\r\n", b"0\r\n\r\n", b"0\r\n", b"5;x=y\r\nhello\r\n",
]  # fmt: skip


def agreed(data: bytes) -> Read | None:
    """What evalkit reads, which h11 must read too."""
    found = ours([data])
    assert found is None or found == theirs(data)
    return found


@given(st.lists(st.sampled_from(TOKENS), max_size=14), st.sampled_from([b"", OK, CHUNKED]))
@example([b"3\r\nabc\r\n", b"0\r\n\r\n"], CHUNKED)
@settings(max_examples=1500)
def test_whatever_is_read_of_a_jumble_is_what_h11_reads(parts: list[bytes], begin: bytes) -> None:
    agreed(begin + b"".join(parts))


@given(st.sampled_from([*SOUND.values()]), st.data())
@settings(max_examples=1500)
def test_a_sound_response_with_bytes_changed_is_read_as_h11_reads_it_or_not_at_all(
    data: bytes, drawn: st.DataObject
) -> None:
    changed = bytearray(data)
    for _ in range(drawn.draw(st.integers(1, 3))):
        at = drawn.draw(st.integers(0, len(changed)))
        cut = drawn.draw(st.integers(0, 2))
        changed[at : at + cut] = drawn.draw(st.sampled_from(TOKENS) | st.binary(max_size=2))
    agreed(bytes(changed))


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=6), st.lists(st.integers(0, 400), max_size=8))
@settings(max_examples=300)
def test_any_body_in_chunks_cut_anywhere_comes_back(bodies: list[bytes], cuts: list[int]) -> None:
    data = CHUNKED + b"".join(b"%X\r\n%b\r\n" % (len(body), body) for body in bodies) + b"0\r\n\r\n"
    edges = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    found = ours([data[a:b] for a, b in itertools.pairwise(edges)])
    assert found is not None
    assert found.body == b"".join(bodies)


def request(method: str = "POST", **given: Any) -> httpx.Request:
    return httpx.Request(method, "http://shop.test/a?q=退", **given)


def test_a_request_is_written_as_h11_reads_it() -> None:
    body = '{"q":"退"}'.encode()
    data = request_bytes(request(content=body, headers={"X-A": "b c"}), body)
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    head, content, end = (connection.next_event() for _ in range(3))
    assert isinstance(head, h11.Request)
    assert (head.method, head.target) == (b"POST", b"/a?q=%E9%80%80")
    assert dict(head.headers)[b"x-a"] == b"b c"
    assert isinstance(content, h11.Data)
    assert bytes(content.data) == body
    assert isinstance(end, h11.EndOfMessage)


def test_a_body_of_unknown_length_goes_as_one_chunk() -> None:
    data = request_bytes(request(headers={"Transfer-Encoding": "chunked"}), b"abc")
    assert data.endswith(b"\r\n\r\n3\r\nabc\r\n0\r\n\r\n")
    assert request_bytes(request(headers={"Transfer-Encoding": "chunked"}), b"").endswith(
        b"\r\n\r\n0\r\n\r\n"
    )


@pytest.mark.parametrize(
    ("made", "body"),
    [
        (request(headers={"X": "a\r\nEvil: 1"}), b""),
        (request(headers={"X": "a\x00"}), b""),
        (request(headers={"X": " a"}), b""),
        (request(headers={"X Y": "a"}), b""),
        (request(headers={"X:": "a"}), b""),
        (request("GE T"), b""),
        (request("退"), b""),
        (request(headers={"Content-Length": "2"}), b"abc"),
        (request(headers={"Transfer-Encoding": "gzip"}), b"abc"),
        (request(headers={"Transfer-Encoding": "chunked", "Content-Length": "3"}), b"abc"),
        (request("GET"), b"abc"),
    ],
    ids=[
        "line end", "zero byte", "leading space", "space in a name", "colon in a name", "space in the method",
        "method", "another length", "coding", "two lengths", "no length",
    ],
)  # fmt: skip
def test_a_request_that_could_be_read_otherwise_is_not_written(made: httpx.Request, body: bytes) -> None:
    with pytest.raises(httpx.LocalProtocolError):
        request_bytes(made, body)
