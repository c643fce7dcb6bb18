"""Personal data as a layer of the rule: what the forms of `evalkit.finding.personal` find, shown masked."""

from __future__ import annotations

from evalkit.finding.personal import PersonalDatum, masked
from evalkit.rules.safety.hits import Hit

__all__ = ["LAYER", "find"]

LAYER = "pii:1"
"""The layer's name, with the version of its forms."""


def find(datum: PersonalDatum) -> Hit:
    """The datum as a find of this layer, with the middle of its value hidden."""
    return Hit(LAYER, datum.kind, "medium", masked(datum.value))
