"""Text to terms: what two Chinese texts can have in common without a dictionary.

Characters and character pairs for Chinese, whole words and numbers for the rest. Pairs beat word
segmentation on short questions, and need no model.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

__all__ = ["content_terms", "folded", "terms"]

_RUN = re.compile(r"[\u3400-\u9fff]+|[a-z0-9]+(?:[-.+][a-z0-9]+)*")
_PIECE = re.compile(r"[a-z]+|\d+(?:\.\d+)?")
_FUNCTION_CHARACTERS = frozenset("的了吗呢吧啊呀么是我你您他她它们个这那在有和与就都也还要会能可以请问下一")


def folded(text: str) -> str:
    """`text` in one width and one case (NFKC, casefold)."""
    return unicodedata.normalize("NFKC", text).casefold()


def terms(text: str) -> list[str]:
    """The terms of `text` in order, repeated as often as they occur; none for text without words.

    A run of Chinese gives its characters and its pairs; a Latin run gives itself without its joints, so that
    `E-12` and `e12` are one term, and its letters and numbers where it mixes both.
    """
    found: list[str] = []
    for run in _RUN.findall(folded(text)):
        found += _latin(run) if run[0].isascii() else _chinese(run)
    return found


def content_terms(text: str) -> list[str]:
    """The terms of `text` without the single characters that only carry grammar."""
    return [term for term in terms(text) if term not in _FUNCTION_CHARACTERS]


def _chinese(run: str) -> list[str]:
    return list(run) + [left + right for left, right in pairwise(run)]


def _latin(run: str) -> list[str]:
    whole = re.sub(r"[-.+]", "", run)
    pieces = _PIECE.findall(run)
    return [whole, *pieces] if len(pieces) > 1 else [whole]
