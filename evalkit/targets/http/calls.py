"""Tool calls put together from their parts: started, named, given arguments piece by piece, answered.

Latencies are not told by any of these formats, and stay null.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evalkit.contracts import ToolCall
from evalkit.net.wire import decoded, joined, storable
from evalkit.targets.http.paths import select
from evalkit.targets.http.rules import Tools

__all__ = ["CallLog"]


@dataclass(slots=True)
class _Call:
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    arguments: Any = None
    result: Any = None
    error: str | None = None


class CallLog:
    """What was told of tool calls so far; `flags` say what of it was odd."""

    def __init__(self) -> None:
        self.flags: list[str] = []
        self._calls: list[_Call] = []
        self._by_key: dict[str, _Call] = {}

    def take(self, rule: Tools, data: Any) -> list[str]:
        """Take in what the rule finds; the names of the calls that it spoke of."""
        found = storable(select(rule.each, data))
        scope = select(rule.scope, data)
        parts = found if isinstance(found, list) else [] if found is None else [found]
        return [self._part(rule, part, scope).name for part in parts]

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order of their first parts; parts of calls without a name are left out, flagged."""
        if any(not call.name for call in self._calls):
            self.flags.append("bad_tool_call")
        return tuple(self._call(call) for call in self._calls if call.name)

    def _part(self, rule: Tools, part: Any, scope: Any) -> _Call:
        call = self._found(rule, part, scope)
        name, arguments = select(rule.name, part), select(rule.arguments, part)
        if isinstance(name, str) and name and not call.name:
            call.name = name
        _take_arguments(call, arguments, whole=rule.whole)
        result, error = select(rule.result, part), select(rule.error, part)
        call.result = call.result if result is None else result
        call.error = str(error) if error else call.error
        return call

    def _found(self, rule: Tools, part: Any, scope: Any) -> _Call:
        """The call that a part belongs to: by its key, else by its id, else a new one."""
        key, known = select(rule.key, part), select(rule.id, part)
        keys = [f"key {scope} {key}"] if key is not None else []
        keys += [f"id {known}"] if known else []
        call = next((self._by_key[each] for each in keys if each in self._by_key), None)
        if call is None:
            call = _Call()
            self._calls.append(call)
        self._by_key.update(dict.fromkeys(keys, call))
        return call

    def _call(self, call: _Call) -> ToolCall:
        arguments = call.arguments
        if call.pieces:
            arguments = self._decoded(joined(call.pieces).text)
        if arguments is not None and not isinstance(arguments, dict):
            self.flags.append("bad_tool_arguments")
            arguments = None
        return ToolCall(name=call.name, arguments=arguments or {}, result=call.result, error=call.error)

    def _decoded(self, text: str) -> Any:
        """The arguments that a text holds; an empty text holds none."""
        try:
            return storable(decoded(text)) if text.strip() else None
        except ValueError:
            return text


def _take_arguments(call: _Call, arguments: Any, *, whole: bool) -> None:
    if arguments is None:
        return
    if whole or not isinstance(arguments, str):
        call.pieces.clear()
        call.arguments = None
    if isinstance(arguments, str):
        call.pieces.append(arguments)
    else:
        call.arguments = arguments
