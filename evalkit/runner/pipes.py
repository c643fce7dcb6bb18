"""Messages between this process and another: JSON values, each after its length, over a socket."""

from __future__ import annotations

import asyncio
import json
import struct
from typing import Any

__all__ = ["receive", "send"]

_LENGTH = struct.Struct("!I")


def send(writer: asyncio.StreamWriter, value: dict[str, Any]) -> None:
    """Send a value; it is on its way when this returns."""
    data = json.dumps(value).encode()
    writer.write(_LENGTH.pack(len(data)) + data)


async def receive(reader: asyncio.StreamReader) -> dict[str, Any] | None:
    """The next value; null once the other side is gone."""
    try:
        (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
        value: dict[str, Any] = json.loads(await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return value
