"""When the bytes of one request and its response moved, in seconds of `time.perf_counter`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

__all__ = ["Stamped", "StampedBody", "Stamps"]

_MOMENTS = {
    "connection.connect_tcp.started": "connecting_at",
    "connection.connect_tcp.complete": "connected_at",
    "connection.start_tls.complete": "connected_at",
    "http11.send_request_headers.started": "sending_at",
    "http11.send_request_body.complete": "sent_at",
    "http11.receive_response_headers.complete": "headers_at",
}


class Stamped(NamedTuple):
    """A piece of a response body and when its bytes arrived."""

    data: bytes
    arrived_at: float


class StampedBody(Protocol):
    """A response body as it arrived; every transport puts its own under the extension `body`."""

    def stamped(self) -> AsyncIterator[Stamped]:
        """The pieces in order, once."""


@dataclass(slots=True)
class Stamps:
    """When the parts of one request happened; None where they did not, or nobody could see them.

    A request has left (`sent_at`) when its last byte was handed to the socket. A caller that wants stamps even
    if the request fails puts its own under the extension `stamps`. `arrived_at` is the arrival of the latest
    piece of the body, `ended_at` that of its end.
    """

    handed_at: float | None = None
    connecting_at: float | None = None
    connected_at: float | None = None
    sending_at: float | None = None
    sent_at: float | None = None
    headers_at: float | None = None
    arrived_at: float | None = None
    ended_at: float | None = None

    @property
    def reused(self) -> bool | None:
        """Whether an open connection was used again; None where no request was seen to leave."""
        return None if self.sending_at is None else self.connecting_at is None

    async def trace(self, moment: str, _info: Mapping[str, Any]) -> None:
        """Stamp a moment that the HTTP library reports."""
        if moment in _MOMENTS:
            setattr(self, _MOMENTS[moment], time.perf_counter())
