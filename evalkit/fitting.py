"""Parameters against the annotations of the function that takes them: the signature is the schema."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticSchemaGenerationError, PydanticUndefinedAnnotation

from evalkit.errors import UsageError, shown
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
    fits = _fits(lookup(kind, spec.type))
    return {
        name: fits[name](f"{kind} {spec.type!r}: {name}", value) if name in fits else value
        for name, value in spec.params.items()
    }


class _Fit(NamedTuple):
    """How to read one parameter; nothing is coerced but what the nouns of the contracts coerce themselves."""

    adapter: TypeAdapter[Any]
    strict: bool

    def __call__(self, place: str, value: object) -> Any:
        try:
            return self.adapter.validate_json(json.dumps(value), strict=self.strict)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            where = "".join(f".{part}" for part in problem["loc"])
            raise UsageError(
                f"{place}{where}: found {shown(problem['input'])}, wanted: {problem['msg'].removeprefix('Input should be ')}."
            ) from None


@functools.cache
def _fits(function: Callable[..., Any]) -> dict[str, _Fit]:
    """How to read each annotated parameter; none where an annotation means nothing at run time."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError:
        return {}
    return {name: fit for name, hint in hints.items() if (fit := _fit(hint)) is not None}


def _fit(hint: Any) -> _Fit | None:
    """How to read what JSON can be; null for a model that is handed in, and whatever else JSON cannot be."""
    try:
        return _Fit(TypeAdapter(hint), strict=not any(_is_noun(part) for part in _parts(hint)))
    except (PydanticSchemaGenerationError, PydanticUndefinedAnnotation):
        return None


def _is_noun(part: object) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)
