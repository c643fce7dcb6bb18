"""Labels as they look: two that look the same and are not are a trap, because labels compare exactly."""

from __future__ import annotations

import unicodedata

__all__ = ["look"]


def look(label: str) -> str:
    """The label in compatibility form, without the characters that nobody sees and the space around it.

    Full-width and half-width letters look alike, composed and decomposed ones too; case matters.
    """
    folded = unicodedata.normalize("NFKC", label)
    return "".join(char for char in folded if unicodedata.category(char) != "Cf").strip()
