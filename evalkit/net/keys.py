"""Keys by reference: a configuration names where a key is, and never holds one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from evalkit.errors import UsageError
from evalkit.net.capture import playing
from evalkit.net.logs import guard
from evalkit.net.masking import Mask

__all__ = ["STAND_IN_KEY", "checked_reference", "is_secret_name", "mask_of", "resolved"]

STAND_IN_KEY = "no-key"
"""What targets get in the place of keys and logins where exchanges are played back; too short to be blacked out."""

_REFERENCE = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|file:.+")
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:PASSWORD|PASSWD|TOKEN|SECRET|API_?KEY|ACCESS_KEY|AUTHORIZATION)$", re.IGNORECASE
)


def checked_reference(reference: str, *, place: str) -> str:
    """The reference itself where it is one; else UsageError, which does not repeat what may be a key."""
    if not _REFERENCE.fullmatch(reference):
        raise UsageError(f"{place}: found something else than a reference, wanted env:NAME or file:PATH.")
    return reference


def resolved(reference: str | None, *, place: str) -> str:
    """The key that the reference leads to, empty without one; UsageError where it leads nowhere.

    Where exchanges are played back, nobody needs the key: a stand-in comes instead.
    """
    if reference is None:
        return ""
    kind, _, name = checked_reference(reference, place=place).partition(":")
    if playing():
        return STAND_IN_KEY
    key = _from_file(name, place) if kind == "file" else os.environ.get(name, "")
    if not key.strip():
        raise UsageError(f"{place}: found no key at {reference}; set the variable, or fill the file.")
    if not key.strip().isascii() or not key.strip().isprintable():
        raise UsageError(f"{place}: found a key at {reference} that no HTTP header can carry.")
    return key.strip()


def _from_file(name: str, place: str) -> str:
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{place}: found no readable text file at file:{name}.") from None


def is_secret_name(name: str) -> bool:
    """Whether a parameter or variable of that name holds a secret: it ends with password, token, api_key, …"""
    return _SECRET_NAME.search(name) is not None


def mask_of(*keys: str, environment: Mapping[str, str] | None = None) -> Mask:
    """A mask over the keys, and over every variable of the environment that is named like a secret.

    From then on the log is guarded too.
    """
    guard()
    mask = Mask()
    variables = os.environ if environment is None else environment
    for secret in (*keys, *(value for name, value in variables.items() if is_secret_name(name))):
        mask.add(secret)
    return mask
