"""Parameters against the annotations of the function that takes them: the signature is the schema."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable, Collection
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation

from evalkit.errors import UsageError
from evalkit.reading.decoding import shown
from evalkit.registry import Spec, lookup

__all__ = ["fitted"]


def fitted(kind: str, spec: Spec, *, reserved: Collection[str] = ()) -> dict[str, Any]:
    """The parameters as the extension's annotations want them: objects become models, bounds hold.

    Parameters whose annotation says nothing pass as they are, as do those that the extension does not have:
    `bind` refuses them. UsageError for a value that does not fit, and for a parameter that is `reserved`.
    """
    given = sorted(set(spec.params) & set(reserved))
    if given:
        raise UsageError(f"{kind} {spec.type!r}: {', '.join(given)} cannot be a parameter: it is handed in.")
    adapters = _adapters(lookup(kind, spec.type))
    return {
        name: _fit(f"{kind} {spec.type!r}: {name}", value, adapters[name]) if name in adapters else value
        for name, value in spec.params.items()
    }


def _fit(place: str, value: object, adapter: TypeAdapter[Any]) -> Any:
    try:
        return adapter.validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        where = "".join(f".{part}" for part in problem["loc"])
        raise UsageError(
            f"{place}{where}: found {shown(problem['input'])}, wanted: {problem['msg']}."
        ) from None


@functools.cache
def _adapters(function: Callable[..., Any]) -> dict[str, TypeAdapter[Any]]:
    """How to read each annotated parameter; none where an annotation means nothing at run time."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
        return {name: TypeAdapter(hint) for name, hint in hints.items() if _is_data(hint)}
    except (NameError, PydanticSchemaGenerationError, PydanticUndefinedAnnotation):
        return {}


def _is_data(hint: Any) -> bool:
    """Whether JSON can be that; a model that is handed in cannot."""
    try:
        TypeAdapter(hint)
    except PydanticSchemaGenerationError:
        return False
    return True
