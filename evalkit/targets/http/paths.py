"""Selectors: JMESPath over one event, with the three functions that wire formats need beside the standard ones.

from_json(text)      the value that a text holds as JSON; null stays null
split(text, mark)    the pieces of a text between the marks, without the spaces around them
last(list)           the last element; null of an empty list
"""

from __future__ import annotations

import functools
from typing import Annotated, Any

import jmespath
from jmespath import exceptions, functions
from pydantic import AfterValidator

from evalkit.net.wire import decoded

__all__ = ["Path", "select"]


class _Functions(functions.Functions):  # type: ignore[misc] # the library has no types
    @functions.signature({"types": ["string", "null"]})  # type: ignore[untyped-decorator]
    def _func_from_json(self, text: str | None) -> Any:
        return None if text is None else decoded(text)

    @functions.signature({"types": ["string"]}, {"types": ["string"]})  # type: ignore[untyped-decorator]
    def _func_split(self, text: str, mark: str) -> list[str]:
        return [piece.strip() for piece in text.split(mark) if piece.strip()]

    @functions.signature({"types": ["string", "null"]})  # type: ignore[untyped-decorator]
    def _func_json_or_text(self, text: str | None) -> Any:
        try:
            return decoded(text) if text and text.strip() else None
        except ValueError:
            return text

    @functions.signature({"types": ["array-string"]}, {"types": []})  # type: ignore[untyped-decorator]
    def _func_by_name(self, names: list[str], value: Any) -> list[dict[str, Any]]:
        of_all = isinstance(value, dict) and any(name in value for name in names)
        alone = value if len(names) == 1 else None
        return [{"name": name, "value": value.get(name) if of_all else alone} for name in names]


_OPTIONS = jmespath.Options(custom_functions=_Functions())


@functools.cache
def _compiled(path: str) -> Any:
    return jmespath.compile(path)


def _checked(path: str) -> str:
    try:
        _compiled(path)
    except exceptions.JMESPathError as error:
        raise ValueError(f"no JMESPath: {' '.join(str(error).split())}") from None
    return path


Path = Annotated[str, AfterValidator(_checked)]
"""A JMESPath expression that can be read."""


def select(path: str | None, value: Any) -> Any:
    """What the path finds in the value, null where it finds nothing or is None.

    Raises ValueError where a function of the path was given what it does not take.
    """
    if path is None:
        return None
    try:
        return _compiled(path).search(value, options=_OPTIONS)
    except exceptions.JMESPathError as error:
        raise ValueError(f"{path}: {' '.join(str(error).split())}") from None
