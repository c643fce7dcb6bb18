"""How a stream is cut into events: as the event-stream standard says, or one event a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from evalkit.net.sse import Decoder, Event, EventTooLarge, is_utf8

__all__ = ["EVENT_STREAM", "FrameDecoder", "Framing", "Lines"]


class FrameDecoder(Protocol):
    """Bytes in, whole events out; `tail` is what has come of the next one.

    `bad_utf8` says that bytes of an event were no UTF-8 and stand as U+FFFD.
    """

    bad_utf8: bool

    @property
    def tail(self) -> bytes:
        """The beginning of an event that has not ended."""

    def feed(self, chunk: bytes, /) -> list[Event]:
        """The events that `chunk` completes; raises EventTooLarge."""


class Framing(NamedTuple):
    """The content types of a stream and what cuts it into events."""

    content_types: tuple[str, ...]
    decoder: Callable[[], FrameDecoder]


EVENT_STREAM = Framing(("text/event-stream",), Decoder)
"""Server-sent events, as the WHATWG standard has them."""


class Lines:
    """One event a line, fed in chunks cut anywhere; blank lines are none, a last line without end is the tail.

    With `coded`, a line is `CODE:DATA` and the code is the event's name; else all of the line is data.
    `max_event_bytes` is the longest line that is held while it waits for its end.
    """

    def __init__(self, *, coded: bool, max_event_bytes: int = 1 << 20) -> None:
        self.bad_utf8 = False
        self._coded = coded
        self._cap = max_event_bytes
        self._line: list[bytes] = []
        self._held = 0

    @property
    def tail(self) -> bytes:
        """What has come of a line that has not ended."""
        return b"".join(self._line)

    def feed(self, chunk: bytes) -> list[Event]:
        """The events of the lines that `chunk` ends, in order; raises EventTooLarge."""
        *ended, rest = chunk.split(b"\n")
        events: list[Event] = []
        for part in ended:
            self._hold(part, events)
            self._end_line(events)
        self._hold(rest, events)
        return events

    def _hold(self, part: bytes, events: list[Event]) -> None:
        self._line.append(part)
        self._held += len(part)
        if self._held > self._cap:
            raise EventTooLarge(self._cap, events)

    def _end_line(self, events: list[Event]) -> None:
        raw = b"".join(self._line)
        line = raw.decode("utf-8", "replace").strip("\r")
        self.bad_utf8 |= "\ufffd" in line and not is_utf8(raw)
        self._line.clear()
        self._held = 0
        if line.strip():
            name, colon, data = line.partition(":") if self._coded else ("message", ":", line)
            events.append(Event(name, data) if colon else Event("", line))
