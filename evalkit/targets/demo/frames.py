"""Server-sent events as the real system writes them: `event:NAME`, `data:JSON`, no space after the colon."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Any

from starlette.responses import StreamingResponse
from starlette.types import Send

__all__ = ["EventStream", "chunks", "frame"]


def frame(event: str, data: Any) -> bytes:
    """One event, its data as compact JSON."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"event:{event}\ndata:{text}\n\n".encode()


DONE = frame("done", "[DONE]")
"""The last frame of every stream that ends in order: a JSON string, quotes and all."""


def chunks(text: str, size: int) -> Iterator[str]:
    """`text` in pieces of `size` code points; pieces of white space alone are lost, as in the real system."""
    pieces = (text[start : start + size] for start in range(0, len(text), size))
    return (piece for piece in pieces if piece.strip())


class EventStream(StreamingResponse):
    """A response of frames, whose source is closed with it, whoever ends first."""

    def __init__(self, frames: AsyncGenerator[bytes]) -> None:
        super().__init__(frames, headers={"Content-Type": "text/event-stream;charset=UTF-8"})
        self._frames = frames

    async def stream_response(self, send: Send) -> None:
        """Send the frames; close their source."""
        async with aclosing(self._frames):
            await super().stream_response(send)
