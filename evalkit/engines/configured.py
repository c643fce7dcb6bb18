"""Which metrics are measured, and how: the built-in families, as [metrics.NAME] of evalkit.toml sets them."""

from __future__ import annotations

from pathlib import Path

from evalkit.engines.local import DEFAULT
from evalkit.errors import UsageError, shown
from evalkit.reading.configuration import tables
from evalkit.registry import Spec

__all__ = ["configured"]

_FILE = Path("evalkit.toml")


def configured(path: Path = _FILE) -> list[Spec]:
    """The families of this package and those that the file adds, with the parameters it gives each.

    A table [metrics.NAME] holds parameters of a family, or names a metric of your own (an installed one, or
    `"module:function"` in quotes), which is then measured as well. Without the file: the defaults. Parameters
    that do not fit are refused where the metric is bound.
    """
    found = tables(path, "metrics") if path.is_file() else {}
    for name, params in found.items():
        if not isinstance(params, dict):
            raise UsageError(
                f"{path} metrics.{name}: found {shown(params)}, wanted a table [metrics.{name}]."
            )
    ours = [Spec(spec.type, {**spec.params, **found.pop(spec.type, {})}) for spec in DEFAULT]
    return [*ours, *(Spec(name, params) for name, params in found.items())]
