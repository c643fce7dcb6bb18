"""What a client is told before it connects: an address that is one, and limits that can be kept."""

from __future__ import annotations

import math
import urllib.parse
from collections.abc import Mapping
from typing import Any

import httpx

from evalkit.errors import UsageError, shown

__all__ = ["check_address", "check_limits"]

_LEAST = {"retries": 0, "concurrency": 1, "agent_streams": 1}
_DEADLINES = ("first_event_deadline_s", "total_deadline_s")


def check_address(place: str, address: object) -> None:
    """UsageError where it is no http(s)://HOST[:PORT]/… without login and query; the message does not repeat it."""
    try:
        parts = urllib.parse.urlsplit(str(address))
        httpx.URL(str(address))
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except (ValueError, httpx.InvalidURL):
        sound = False
    if not sound:
        raise UsageError(f"{place}: base_url: found no address, wanted http(s)://HOST[:PORT]/….")
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{place}: base_url: found a login in the address; the environment is the place for it."
        )
    if parts.query or parts.fragment:
        raise UsageError(f"{place}: base_url: found a query in the address, wanted none.")


def check_limits(place: str, settings: Mapping[str, Any]) -> None:
    """UsageError for the first limit among the settings that cannot be kept; other settings are not looked at.

    `retries` is a whole number from 0, `concurrency` and `agent_streams` from 1, a deadline more than 0 seconds.
    """
    for name, least in _LEAST.items():
        value = settings.get(name, least)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise UsageError(
                f"{place}: {name}: found {shown(value)}, wanted a whole number, {least} or more."
            )
    for name in _DEADLINES:
        value = settings.get(name, 1)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < math.inf:
            raise UsageError(f"{place}: {name}: found {shown(value)}, wanted more than 0 seconds.")
