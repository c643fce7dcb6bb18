"""Parameters on the command line: `--target NAME --set KEY=VALUE`, and what of them a manifest tells."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.errors import UsageError

if TYPE_CHECKING:
    from evalkit.registry import Spec

__all__ = ["DESCRIPTION", "settings_by_name", "settled", "target_spec"]

DESCRIPTION = "description_sha256"
"""Under which name the hash of a description stands in a manifest."""

_PRIVATE = ("username",)
_LOGIN = re.compile(r"://[^/\s\"@]*@")


def target_spec(name: str, settings: Iterable[str]) -> Spec:
    """The target and its parameters from `--target NAME --set KEY=VALUE`; values are JSON, else text."""
    from evalkit.registry import Spec  # noqa: PLC0415

    if ":" in name:  # a person's own module, which stands where they are
        sys.path.insert(0, str(Path.cwd()))
    return Spec(name, dict(_setting(setting, wanted="KEY=VALUE") for setting in settings))


def settings_by_name(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Parameters by the name of what has them, from `--set NAME.KEY=VALUE`; values are JSON, else text."""
    found: dict[str, dict[str, Any]] = {}
    for setting in settings:
        place, value = _setting(setting, wanted="NAME.KEY=VALUE")
        name, dot, key = place.rpartition(".")
        if not dot or not name or not key:
            raise UsageError(f"--set: found {setting!r}, wanted NAME.KEY=VALUE.")
        found.setdefault(name, {})[key] = value
    return found


def _setting(setting: str, *, wanted: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals:
        raise UsageError(f"--set: found {setting!r}, wanted {wanted}.")
    if _is_secret(key):
        raise UsageError(
            f"--set {key}: a secret on the command line can be read by everybody on the machine; "
            "put it into the environment instead (docs/cli.md names the variables)."
        )
    return key, _value(value)


def settled(bound: Callable[..., Any]) -> dict[str, Any]:
    """Every parameter of a bound target as it will be used, but for secrets and the names of those who log in.

    Values that JSON does not have are spelled out; a login in an address is blacked out. Of a target that is a
    description the hash of it is told too, so that a run is not resumed with another one.
    """
    from evalkit.parameters import parameters_of  # noqa: PLC0415 - heavy imports wait for the command

    described = getattr(getattr(bound, "func", bound), "description_sha256", None)
    return {
        name: json.loads(_LOGIN.sub("://***@", json.dumps(parameter.default, default=str)))
        for name, parameter in parameters_of(bound).items()
        if name not in _PRIVATE and not _is_secret(name)
    } | ({} if described is None else {DESCRIPTION: described})


def _is_secret(name: str) -> bool:
    from evalkit.net.keys import is_secret_name  # noqa: PLC0415

    return is_secret_name(name)


def _value(text: str) -> Any:
    """The JSON that the text is, as strictly as a file's; else the text."""
    from evalkit.reading.decoding import Refusal, json_value  # noqa: PLC0415 - heavy imports wait for the command

    try:
        return json_value(text.encode("utf-8", "surrogatepass"))
    except Refusal:
        return text
