"""Labels as they look: two that look the same and are not are a trap, because labels compare exactly."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["look", "natural"]

_NUMBER = re.compile("([0-9]+)")


def look(label: str) -> str:
    """The label in compatibility form, without the characters that nobody sees and the space around it.

    Full-width and half-width letters look alike, composed and decomposed ones too; case matters.
    """
    folded = unicodedata.normalize("NFKC", label)
    return "".join(char for char in folded if unicodedata.category(char) != "Cf").strip()


def natural(label: str) -> tuple[list[tuple[int, str]], str]:
    """What labels are sorted by such that S2 stands before S10: their numbers as numbers, of any length."""
    parts = _NUMBER.split(label)
    bare = [part.lstrip("0") if place % 2 else part for place, part in enumerate(parts)]
    return [(len(part) if place % 2 else 0, part) for place, part in enumerate(bare)], label
