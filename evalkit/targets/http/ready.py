"""The descriptions that come with the package: one TOML file each in the folder `presets`, a target each.

Each is an attribute of this module by its name, so that the registry names it like any other target.
"""

from __future__ import annotations

import functools
import tomllib
from importlib import resources
from typing import Any

from evalkit.errors import UnknownName
from evalkit.reading.configuration import held
from evalkit.targets.http.opening import target
from evalkit.targets.http.spec import TargetSpec

__all__ = ["preset_names", "preset_spec", "preset_table"]


@functools.cache
def preset_names() -> tuple[str, ...]:
    """The names of all presets, sorted."""
    files = (resources.files(__package__) / "presets").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def preset_table(name: str) -> dict[str, Any]:
    """The preset as it is written; UnknownName lists the others."""
    if name not in preset_names():
        raise UnknownName("preset", name, preset_names())
    file = resources.files(__package__) / "presets" / f"{name}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


def preset_spec(name: str) -> TargetSpec:
    """The preset as a description."""
    return held(TargetSpec, preset_table(name), place=f"preset {name}:")


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name not in preset_names():
        raise AttributeError(name)
    return target(name, preset_spec(name))
