"""One harmful thing in a text: what each layer of the safety rule finds."""

from __future__ import annotations

from typing import NamedTuple

from evalkit.rules.params import Severity

__all__ = ["Hit"]


class Hit(NamedTuple):
    """What was found by which layer, of which kind, how bad, and the words themselves."""

    layer: str
    category: str
    severity: Severity
    text: str
