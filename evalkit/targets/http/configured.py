"""The targets of a project: tables [targets.NAME] of the `evalkit.toml` in the working directory.

A table may start from a preset: `use` names it, the table's own keys take the place of the preset's, tables
within tables key by key, lists whole. `set` gives its parameters and keys other defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from evalkit.errors import UsageError
from evalkit.kinds import Ask
from evalkit.reading.configuration import held, tables
from evalkit.targets.http.opening import target
from evalkit.targets.http.ready import preset_table
from evalkit.targets.http.spec import TargetSpec

__all__ = ["FILE", "named", "spec_of"]

FILE = Path("evalkit.toml")
"""Where the tables are, in the working directory."""


def named() -> dict[str, Callable[[], Callable[..., AbstractAsyncContextManager[Ask]]]]:
    """What makes each target, by its name; empty without the file."""
    if not FILE.is_file():
        return {}
    found = tables(FILE, "targets")
    return {
        name: lambda name=name, table=table: target(name, spec_of(name, table))  # type: ignore[misc]
        for name, table in found.items()
    }


def spec_of(name: str, table: Any) -> TargetSpec:
    """The description in a table; UsageError names the key that does not hold, UnknownName a preset there is not."""
    place = f"{FILE}: [targets.{name}]"
    if not isinstance(table, dict):
        raise UsageError(f"{place}: wanted a table.")
    own = dict(table)
    base = preset_table(str(own.pop("use"))) if "use" in own else {}
    defaults = own.pop("set", {})
    whole = _merged(base, own)
    return held(TargetSpec, _with_defaults(whole, defaults, place), place=place)


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


def _with_defaults(table: dict[str, Any], defaults: Any, place: str) -> dict[str, Any]:
    if not isinstance(defaults, dict):
        raise UsageError(f"{place} set: wanted a table of defaults.")
    parameters, secrets = table.get("parameters", {}), table.get("secrets", {})
    for name, value in defaults.items():
        if name in secrets:
            secrets = {**secrets, name: value}
        elif name in parameters:
            parameters = {**parameters, name: {**parameters[name], "default": value}}
        else:
            known = ", ".join([*parameters, *secrets]) or "none"
            raise UsageError(f"{place} set.{name}: no such parameter. Known: {known}.")
    return {**table, "parameters": parameters, "secrets": secrets}
