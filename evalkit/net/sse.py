"""Bytes to events: the event-stream format of the WHATWG HTML standard, section 9.2, without any I/O.

An event leaves `feed` with the byte that ends its block, so that the stamp of the chunk that brought this
byte is the event's own. Nothing here reconnects: `retry` is only read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Decoder", "Event", "EventTooLarge", "is_utf8"]

_LINE_END = re.compile(rb"\r\n|\n|\r")
_BOM = b"\xef\xbb\xbf"
_RETRY_DIGITS = 15  # beyond any wait that could be meant, and below what int() refuses


class Event(NamedTuple):
    """One dispatched block: its name, its data lines joined by LF, and the last event id at that time."""

    event: str
    data: str
    id: str = ""


class EventTooLarge(Exception):
    """A block grew beyond the cap; `events` are the whole ones of the same chunk before it."""

    def __init__(self, cap: int, events: Sequence[Event]) -> None:
        super().__init__(f"an event of more than {cap} bytes has no end; wanted at most that many.")
        self.events = tuple(events)


class Decoder:
    """An event stream, fed in chunks cut anywhere; time is linear in the bytes, memory bounded by the cap.

    Always UTF-8, whatever the headers say; invalid bytes become U+FFFD. Lines end with LF, CR or CRLF.
    Blocks without data (comments, ids, retries) are never dispatched. `max_event_bytes` is the longest block
    that is held while it waits for its end. With `bare_events` a block that has a name and no data is
    dispatched all the same, which the standard forbids and some servers end their streams with.
    """

    def __init__(self, *, max_event_bytes: int = 1 << 20, bare_events: bool = False) -> None:
        self.retry_ms: int | None = None
        self._cap = max_event_bytes
        self._bare_events = bare_events
        self._at_start = True
        self._after_cr = False
        self._line: list[bytes] = []
        self._block: list[bytes] = []
        self._held = 0
        self._last_id = ""
        self.bad_utf8 = False

    @property
    def tail(self) -> bytes:
        """What has come of a block that has not ended: at the end of the stream, what was cut off."""
        return b"\n".join([*self._block, b"".join(self._line)])

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes, in order; raises EventTooLarge."""
        if not chunk:
            return []
        if self._after_cr:
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = chunk.endswith(b"\r")
        *ended, rest = _LINE_END.split(chunk)
        events: list[Event] = []
        for part in ended:
            self._hold(part, events)
            self._end_line(events)
        self._hold(rest, events)
        return events

    def _hold(self, part: bytes, events: Sequence[Event]) -> None:
        if part:
            self._line.append(part)
            self._held += len(part)
        if self._held > self._cap:
            raise EventTooLarge(self._cap, events)

    def _end_line(self, events: list[Event]) -> None:
        line = b"".join(self._line)
        self._line.clear()
        if self._at_start:
            self._at_start = False
            self._held -= len(line) - len(line := line.removeprefix(_BOM))
        if not line:
            self._dispatch(events)
        elif line.startswith(b":"):
            self._held -= len(line)
        else:
            self._block.append(line)
            self._heed(line)

    def _heed(self, line: bytes) -> None:
        """Take what has its effect at once, whether or not the block is dispatched."""
        name, value = _field(line)
        if name == b"retry" and value.isdigit() and len(value) <= _RETRY_DIGITS:
            self.retry_ms = int(value)
        elif name == b"id" and b"\0" not in value:
            self._last_id = _text(value)

    def _dispatch(self, events: list[Event]) -> None:
        fields = [_field(line) for line in self._block]
        self._block.clear()
        self._held = 0
        data = [value for name, value in fields if name == b"data"]
        kind = next((value for name, value in reversed(fields) if name == b"event"), b"")
        if data or (kind and self._bare_events):
            event = Event(_text(kind or b"message"), _text(b"\n".join(data)), self._last_id)
            self.bad_utf8 |= "\ufffd" in event.data and not is_utf8(b"\n".join(data))
            events.append(event)


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def is_utf8(value: bytes) -> bool:
    """Whether the bytes are UTF-8 as they stand."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
