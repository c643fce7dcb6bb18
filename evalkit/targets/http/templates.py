"""Requests as templates: values put in once, as data. What a value says is never read as a template.

A text that is one placeholder and nothing else becomes the value itself, whatever its JSON type; among other
characters a value is written as text. `{{` and `}}` stand for the braces themselves.
"""

from __future__ import annotations

import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.errors import UsageError

__all__ = ["address", "filled", "placeholders"]

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z_][\w.]*)\}")
_WHOLE = re.compile(r"\{([A-Za-z_][\w.]*)\}")

Values = Mapping[str, Any]


def placeholders(template: Any) -> Iterator[str]:
    """The names that a template wants, in texts at any depth."""
    if isinstance(template, str):
        yield from (found[1] for found in _TOKEN.finditer(template) if found[1])
    elif isinstance(template, Mapping):
        for inner in template.values():
            yield from placeholders(inner)
    elif isinstance(template, list | tuple):
        for inner in template:
            yield from placeholders(inner)


def filled(template: Any, values: Values) -> Any:
    """The template with its values; a key whose value is one placeholder of null is left out.

    Raises UsageError for a placeholder that has no value.
    """
    if isinstance(template, str):
        whole = _WHOLE.fullmatch(template)
        return _value(whole[1], values) if whole else _text(template, values)
    if isinstance(template, Mapping):
        return {key: filled(inner, values) for key, inner in template.items() if not _absent(inner, values)}
    if isinstance(template, list | tuple):
        return [filled(inner, values) for inner in template if not _absent(inner, values)]
    return template


def address(template: str, values: Values) -> str:
    """A URL: the placeholder that it begins with as it is, without a last slash; all others as one segment.

    Raises ValueError where one of them is null: such an address leads somewhere else.
    """
    unset = [name for name in placeholders(template) if _value(name, values) is None]
    if unset:
        raise ValueError(f"the address wants {', '.join(unset)}, of which there is none")
    whole = _WHOLE.match(template)
    start = str(_value(whole[1], values)).rstrip("/") if whole else ""
    rest = template[whole.end() :] if whole else template
    return start + _text(rest, values, quote=True)


def _absent(template: Any, values: Values) -> bool:
    whole = _WHOLE.fullmatch(template) if isinstance(template, str) else None
    return whole is not None and _value(whole[1], values) is None


def _text(template: str, values: Values, *, quote: bool = False) -> str:
    def put(found: re.Match[str]) -> str:
        if not found[1]:
            return found[0][0]
        value = _value(found[1], values)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return urllib.parse.quote(text, safe="", errors="replace") if quote else text

    return _TOKEN.sub(put, template)


def _value(name: str, values: Values) -> Any:
    if name.startswith("case."):  # one case has the field, the next may not
        return values.get(name)
    if name not in values:
        raise UsageError(
            f"template: found no value for {{{name}}}, wanted one of {', '.join(sorted(values))}."
        )
    return values[name]
