"""Has the reply the form that a program can read? Nothing is ever fetched to find out."""

from __future__ import annotations

import importlib
import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from evalkit.contracts import Case, Turn, Verdict
from evalkit.errors import UsageError, shown
from evalkit.finding.regexes import compiled, searchable
from evalkit.reading.decoding import Refusal, json_value
from evalkit.rules.scope import ReplyScope, over_replies

__all__ = ["json_schema"]

_RULE = "json_schema"
_DRAFTS = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
}
_FENCE = re.compile(r"\s*```[a-zA-Z]*\n(.*)\n```\s*", re.DOTALL)
_MOST = 20
_Check = Callable[[Any, Any, Any, Any], Iterator[Any]]


def json_schema(
    _case: Case,
    dialog: Sequence[Turn],
    *,
    schema: dict[str, JsonValue] | bool,
    fenced: bool = False,
    evaluation_scope: ReplyScope = "last_turn",
) -> Verdict:
    """1 where the reply is one JSON value that the schema allows, else 0.

    Drafts 2020-12 (without `$schema`) and 7. The reply is read strictly: no NaN, no key twice; with `fenced`
    it may stand in a Markdown code fence. `$ref` leads to places within the schema only; patterns are RE2's.
    UsageError for a schema that is none, or that refers elsewhere. Source: mission, rule `json_schema`.
    """
    validator = _validator(schema)

    def check(reply: str) -> Verdict:
        problems = _problems(validator, reply, fenced=fenced)
        return Verdict(
            rule=_RULE,
            passed=not problems,
            score=0.0 if problems else 1.0,
            reason=problems[0] if problems else "fits the schema",
            scope=evaluation_scope,
            detail={"problems": [*problems]},
        )

    return over_replies(dialog, evaluation_scope, check, rule=_RULE)


def _problems(validator: Any, reply: str, *, fenced: bool) -> list[str]:
    """What is wrong with the reply, the first few things of it."""
    inside = _FENCE.fullmatch(reply) if fenced else None
    try:
        value = json_value((inside[1] if inside else reply).encode("utf-8", "surrogatepass"))
    except Refusal as bad:
        found, wanted = bad.args
        at = f" at line {bad.line} column {bad.column}" if bad.column else ""
        return [f"is not JSON: {found}{at}, wanted {wanted}"]
    referencing = importlib.import_module("referencing.exceptions")
    try:
        return [
            f"{error.json_path}: {shown(error.instance)} breaks {error.validator}"
            for error in itertools.islice(validator.iter_errors(value), _MOST)
        ]
    except (referencing.Unresolvable, RecursionError) as error:
        raise _wrong(
            f"a $ref that leads nowhere or round in a circle ({error})", "one within the schema"
        ) from None


def _validator(schema: dict[str, JsonValue] | bool) -> Any:  # noqa: FBT001 - true and false are schemas
    """The schema, ready to be held against values."""
    try:
        jsonschema = importlib.import_module("jsonschema")
        referencing = importlib.import_module("referencing")
    except ImportError:
        raise UsageError("json_schema: jsonschema is not installed; pip install 'evalkit[rules]'.") from None
    draft = schema.get("$schema", next(iter(_DRAFTS))) if isinstance(schema, dict) else next(iter(_DRAFTS))
    name = _DRAFTS.get(str(draft).removesuffix("#"))
    if name is None:
        raise _wrong(f"$schema {draft!r}", " or ".join(_DRAFTS))
    base = getattr(jsonschema, name)
    try:
        base.check_schema(schema, format_checker=None)
    except jsonschema.SchemaError as error:
        raise _wrong(f"{error.json_path}: {shown(error.instance)}", str(error.validator)) from None
    for part in _parts(schema):
        _local(part)
    guarded = jsonschema.validators.extend(base, _GUARDED)
    return guarded(schema, registry=referencing.Registry())


def _parts(schema: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """Every object within the schema, itself first."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for value in inner:
        yield from _parts(value)


def _local(part: Mapping[str, JsonValue]) -> None:
    """Refuse what leads out of the schema, and patterns that may hang."""
    for key in ("$ref", "$dynamicRef"):
        target = part.get(key)
        if isinstance(target, str) and not target.startswith("#"):
            raise _wrong(f"{key} {target!r}", "one that begins with # (nothing is ever fetched)")
    patterns = part.get("patternProperties")
    if isinstance(patterns, dict) and "unevaluatedProperties" in part:
        raise _wrong("patternProperties beside unevaluatedProperties", "additionalProperties in its place")
    names = list(patterns) if isinstance(patterns, dict) else []
    for pattern in [*names, part.get("pattern")]:
        if isinstance(pattern, str):
            compiled(pattern)


def _wrong(found: str, wanted: str) -> UsageError:
    return UsageError(f"json_schema: schema: found {found}, wanted {wanted}.")


def _pattern(_validator: Any, pattern: str, value: Any, _schema: Any) -> Iterator[Any]:
    if isinstance(value, str) and not compiled(pattern).search(searchable(value)):
        yield _error("pattern")


def _pattern_properties(validator: Any, patterns: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    for pattern, schema in patterns.items():
        for key in _keys_like([pattern], value):
            yield from validator.descend(value[key], schema, path=key, schema_path=pattern)


def _additional_properties(validator: Any, allowed: Any, value: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(value, dict):
        return
    known = {*schema.get("properties", {}), *_keys_like(schema.get("patternProperties", {}), value)}
    for key in [key for key in value if key not in known]:
        yield from validator.descend(value[key], allowed, path=key)


def _keys_like(patterns: Any, value: dict[str, Any]) -> list[str]:
    return [key for key in value if any(compiled(pattern).search(searchable(key)) for pattern in patterns)]


def _unique_items(_validator: Any, wanted: Any, value: Any, _schema: Any) -> Iterator[Any]:
    if wanted and isinstance(value, list) and len({_plain(item) for item in value}) < len(value):
        yield _error("uniqueItems")


def _plain(item: Any) -> str:
    """The same text for values that are equal in JSON: 1 is 1.0, and the order of keys is nothing."""
    integral = json.loads(json.dumps(item), parse_float=lambda text: _number(float(text)))
    return json.dumps(integral, sort_keys=True)


def _number(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _error(name: str) -> Any:
    return importlib.import_module("jsonschema").ValidationError(name)


_GUARDED: dict[str, _Check] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "uniqueItems": _unique_items,
}
"""The checks whose time a hostile reply could blow up, in forms that it cannot."""
