"""HTTP/1.1 without any I/O (RFC 9112): a request as bytes, and bytes read as a response.

Strict where two readers could understand the same bytes in two ways: line ends are CRLF, no header is folded,
a length is told once and in one way, and what follows a response is never taken for the next one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import NamedTuple

import httpx

__all__ = ["Head", "ResponseReader", "request_bytes"]

_MAX_HEAD = 1 << 16
_MAX_SIZE_LINE = 1 << 10
_MAX_INTERIM = 16

_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e]+")
_UNWRITABLE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_BARE_LINE_END = re.compile(rb"\r(?!\n)(?!\Z)|(?<!\r)\n")

Headers = list[tuple[bytes, bytes]]


def request_bytes(request: httpx.Request, body: bytes) -> bytes:
    """The request on the wire; raises LocalProtocolError where it cannot be written unambiguously."""
    method, target = request.method.encode("ascii", "replace"), request.url.raw_path
    if not (_TOKEN.fullmatch(method) and _TARGET.fullmatch(target)):
        raise httpx.LocalProtocolError("the method or the address cannot be written")
    lines = [b"%b %b HTTP/1.1" % (method, target)]
    for name, value in request.headers.raw:
        if not _TOKEN.fullmatch(name) or _UNWRITABLE.search(value) or value != value.strip(b" \t"):
            raise httpx.LocalProtocolError("a header cannot be written")
        lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join([*lines, b"", _framed(request.headers, body)])


def _framed(headers: httpx.Headers, body: bytes) -> bytes:
    """The body, as long as the headers say that it is."""
    length, encoding = headers.get("content-length"), headers.get("transfer-encoding")
    if encoding is not None:
        if encoding.lower() != "chunked" or length is not None:
            raise httpx.LocalProtocolError("the body's length is told in two ways, or in none that is known")
        return (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
    if (length or "0") != str(len(body)):
        raise httpx.LocalProtocolError("the body is not as long as its header says")
    return body


class Head(NamedTuple):
    """What a response says before its body."""

    status: int
    headers: Headers
    reason: bytes
    version: bytes


class ResponseReader:
    """One response, fed in pieces cut anywhere; the time is linear in the bytes, what is held is bounded.

    `head` is there once it is whole, interim ones (1xx) are passed over; `done` says that the body is whole too.
    Raises RemoteProtocolError for what is no response or can be read in two ways.
    """

    def __init__(self, method: str) -> None:
        self.head: Head | None = None
        self.done = False
        self._bodiless = method == "HEAD"
        self._read: Callable[[bytes, int, list[bytes]], int] = self._read_head
        self._rest = b""
        self._left = 0
        self._in_chunk = False
        self._interim = 0
        self._lasting = False

    @property
    def reusable(self) -> bool:
        """Whether the connection may serve another request."""
        return self.done and self._lasting and not self._rest

    def feed(self, data: bytes, pieces: list[bytes]) -> None:
        """Read on, and append to `pieces` what came of the body, also where it raises afterwards."""
        if self._rest:
            data, self._rest = self._rest + data, b""
        at, end = 0, len(data)
        while at < end and not self.done:
            before = at, self._read
            at = self._read(data, at, pieces)
            if before == (at, self._read):
                break
        self._rest = data[at:]

    def end(self) -> None:
        """The connection has ended; raises where the response has not."""
        if self.done:
            return
        if self.head is None:
            found = "inside the response's head" if self._rest else "without sending a response"
            raise httpx.RemoteProtocolError(f"the server closed the connection {found}")
        if self._read != self._read_until_end:
            raise httpx.RemoteProtocolError("the server closed the connection inside the response's body")
        self.done = True

    def _read_head(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        end = data.find(b"\r\n\r\n", at)
        seen = data[at:] if end < 0 else data[at:end]
        if _BARE_LINE_END.search(seen):
            raise httpx.RemoteProtocolError("found a line in the head that does not end in CRLF")
        if not seen.startswith(b"HTTP/1."[: len(seen)]) or not seen:
            raise httpx.RemoteProtocolError("found bytes that begin no HTTP/1 response")
        if len(seen) > _MAX_HEAD:
            raise httpx.RemoteProtocolError(f"found a head of more than {_MAX_HEAD} bytes")
        if end < 0:
            return at
        self._take(_head(seen))
        return end + 4

    def _take(self, head: Head) -> None:
        if head.status == HTTPStatus.SWITCHING_PROTOCOLS or self._interim == _MAX_INTERIM:
            raise httpx.RemoteProtocolError(f"found HTTP {head.status}, wanted a final response")
        if head.status < HTTPStatus.OK:
            self._interim += 1
            return
        self.head = head
        self._frame(head)

    def _frame(self, head: Head) -> None:
        """How the body is known to end (RFC 9112, section 6.3)."""
        coding, lengths = _all(head.headers, b"transfer-encoding"), _all(head.headers, b"content-length")
        self._lasting = head.version == b"1" and b"close" not in _words(head.headers, b"connection")
        if coding and (lengths or head.version == b"0" or [each.lower() for each in coding] != [b"chunked"]):
            raise httpx.RemoteProtocolError("the body's length is told in two ways, or in none that is known")
        length = _length(lengths)
        if self._bodiless or head.status in {HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED}:
            self.done = True
        elif coding:
            self._read = self._read_chunks
        elif length is not None:
            self._left, self._read, self.done = length, self._read_length, length == 0
        else:
            self._lasting, self._read = False, self._read_until_end

    def _read_length(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        at = self._read_piece(data, at, pieces)
        self.done = self._left == 0
        return at

    def _read_until_end(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        pieces.append(data[at:])
        return len(data)

    def _read_chunks(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        while True:
            if not self._in_chunk:
                match = _SIZE_LINE.match(data, at)
                if match is None:
                    _check_unfinished(data, at)
                    return at
                self._left, self._in_chunk = int(match[1], 16), True
                at = match.end()
                if self._left == 0:
                    self._read = self._read_trailers
                    return at
            at = self._read_piece(data, at, pieces)
            if self._left or not _crlf(data, at):
                return at
            at += 2
            self._in_chunk = False

    def _read_piece(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """As much of the chunk under way as is there."""
        piece = data[at : at + self._left]
        if piece:
            pieces.append(piece)
            self._left -= len(piece)
        return at + len(piece)

    def _read_trailers(self, data: bytes, at: int, _pieces: list[bytes]) -> int:
        """What follows the last chunk is held to the rules and not used."""
        end = data.find(b"\r\n", at)
        if end == at:
            self.done = True
            return at + 2
        seen = data[at : end if end >= 0 else len(data)]
        self._left += len(seen) if end >= 0 else 0
        if self._left + len(seen) > _MAX_HEAD or _BARE_LINE_END.search(seen):
            raise httpx.RemoteProtocolError("found trailers that cannot be read")
        if end < 0:
            return at
        _field(seen)
        return end + 2


def _head(block: bytes) -> Head:
    first, *lines = block.split(b"\r\n")
    match = _STATUS_LINE.fullmatch(first)
    if match is None:
        raise httpx.RemoteProtocolError("found a status line that cannot be read")
    return Head(int(match[2]), [_field(line) for line in lines], match[3] or b"", match[1])


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or _UNWRITABLE.search(value):
        raise httpx.RemoteProtocolError("found a header line that cannot be read")
    return name, value.strip(b" \t")


def _all(headers: Headers, name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _words(headers: Headers, name: bytes) -> set[bytes]:
    return {word.strip(b" \t").lower() for value in _all(headers, name) for word in value.split(b",")}


def _length(values: list[bytes]) -> int | None:
    """The body's length, null where it is not told; told twice it must be the same."""
    told = {length.strip(b" \t") for value in values for length in value.split(b",")}
    if not told:
        return None
    length = told.pop()
    if told or not _LENGTH.fullmatch(length):
        raise httpx.RemoteProtocolError("found a content-length that is no single number")
    return int(length)


def _check_unfinished(data: bytes, at: int) -> None:
    """Raise where the line that begins here can be no chunk's size, whatever follows."""
    if len(data) - at > _MAX_SIZE_LINE or b"\n" in data[at:]:
        raise httpx.RemoteProtocolError("found a chunk whose size cannot be read")


def _crlf(data: bytes, at: int) -> bool:
    """Whether the line end is there; raises where something else is."""
    found = data[at : at + 2]
    if not b"\r\n".startswith(found):
        raise httpx.RemoteProtocolError("found a chunk that is longer than its size")
    return len(found) == 2  # noqa: PLR2004 - CR and LF
