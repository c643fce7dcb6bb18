"""The tool calls of one answer stream: `start` and `end` events paired by name, in the order of their starts.

The events have no call id; of several open calls of one name the oldest is taken to end first. Arguments and
latency are the target's own report; where it makes none they stay empty and null.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import ToolCall

__all__ = ["ToolLog"]


@dataclass(slots=True)
class _Call:
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    error: str | None = "the stream ended before the tool did"
    latency_ms: float | None = None
    open: bool = True


class ToolLog:
    """What the tool events said so far."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    def take(self, data: dict[str, Any]) -> None:
        """Take in one `tool` event; raises ValueError for one without a name or with odd arguments."""
        name = data.get("name")
        if not isinstance(name, str) or not name:
            raise ValueError(f"found tool name {name!r}, wanted text")
        call = self._call(name, data.get("status"))
        call.arguments = _arguments(data.get("arguments")) or call.arguments
        if data.get("status") != "start":
            _end(call, data)

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls, in order of their starts."""
        return tuple(
            ToolCall(
                name=call.name,
                arguments=call.arguments,
                result=call.result,
                error=call.error,
                latency_ms=call.latency_ms,
            )
            for call in self._calls
        )

    def _call(self, name: str, status: object) -> _Call:
        waiting = [call for call in self._calls if call.name == name and call.open]
        if status == "start" or not waiting:
            self._calls.append(_Call(name))
            return self._calls[-1]
        return waiting[0]


def _arguments(found: Any) -> dict[str, Any]:
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"found tool arguments of type {type(found).__name__}, wanted an object")
    return found or {}


def _end(call: _Call, data: dict[str, Any]) -> None:
    call.open = False
    call.result = data.get("result")
    call.error = None if data.get("ok", True) else str(data.get("result") or "the tool reported no success")
    latency = data.get("latencyMs")
    if isinstance(latency, int | float) and not isinstance(latency, bool) and 0 <= latency < math.inf:
        call.latency_ms = float(latency)
