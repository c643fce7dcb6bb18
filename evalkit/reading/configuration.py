"""The tables that people write into `evalkit.toml`: read, held against a model, faults told without values."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from evalkit.errors import NoInput, UsageError

__all__ = ["document", "held", "tables"]

_Model = TypeVar("_Model", bound=BaseModel)


def tables(path: Path, family: str) -> dict[str, Any]:
    """The tables [FAMILY.NAME] of a TOML file by name, none where it has no such family.

    NoInput without the file, UsageError where it is no TOML or the family is not made of tables.
    """
    found = document(path, wanted=f"one with a table [{family}.NAME]").get(family, {})
    if not isinstance(found, dict):
        raise UsageError(f"{path}: {family}: wanted tables [{family}.NAME].")
    return found


def document(path: Path, *, wanted: str) -> dict[str, Any]:
    """All of a TOML file; NoInput without the file tells what was `wanted`, UsageError where it is no TOML."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise NoInput(f"{path}: found no such file, wanted {wanted}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: found no TOML ({error}), wanted {wanted}.") from None


def held(model: type[_Model], table: Any, *, place: str) -> _Model:
    """The table as that model; UsageError names the first key that does not hold.

    The value is left out: somebody may have put a key there.
    """
    try:
        return model.model_validate(table)
    except ValidationError as error:
        fault = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, fault["loc"])) or "table"
        raise UsageError(f"{place} {where}: {fault['msg']}.") from None
