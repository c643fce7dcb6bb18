"""Escapes in JSON strings out of the way, and back: once folded, every `"` in a line is an end of a string."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Folded", "folded", "unfolded", "unfolded_all"]

_BACKSLASH = ord("\\")
_FOLD = 1
_SIGNS = np.zeros(256, dtype=np.uint8)
_SIGNS[list(b'"\\/bfnrt')] = list(b"\x02\x03/bfnrt")
_PLAIN = dict(zip(b"\x02\x03/bfnrt", (b'"', b"\\", b"/", b"\b", b"\f", b"\n", b"\r", b"\t"), strict=True))
_LETTERS = bytes.maketrans(b"\x01\x02\x03", b'\\"\\')
_BETWEEN = b"\x00"


class Folded(NamedTuple):
    """Lines, as long as they were, with each simple escape as a control, U+0001, and one of the `signs`.

    A backslash that is left begins an escape by number, or none.
    """

    raw: bytes
    signs: bytes


def folded(raw: bytes) -> Folded:
    """Fold lines of JSON that hold no controls raw."""
    data = np.frombuffer(raw, dtype=np.uint8)
    places = np.flatnonzero(data == _BACKSLASH)
    if not len(places):
        return Folded(raw, b"")
    begins = np.where(np.diff(places, prepend=-2) > 1, np.arange(len(places)), 0)
    in_run = places - places[np.maximum.accumulate(begins)]
    leads = places[(in_run % 2 == 0) & (places + 1 < len(data))]  # the others are escaped themselves
    signs = _SIGNS[data[leads + 1]]
    leads, signs = leads[signs > 0], signs[signs > 0]
    found = data.copy()
    found[leads] = _FOLD
    found[leads + 1] = signs
    return Folded(found.tobytes(), bytes(np.unique(signs)))


def unfolded(text: bytes) -> object:
    """The value of a JSON text that was folded."""
    return json.loads(text.translate(_LETTERS) if b"\x01" in text else text)


def unfolded_all(strings: Sequence[bytes], signs: bytes) -> list[bytes]:
    """What is in folded strings of JSON, quotes or none around them; `signs` are all that can be in them."""
    text = _BETWEEN.join(strings)
    for sign in signs:
        text = text.replace(bytes((_FOLD, sign)), _PLAIN[sign])
    return text.split(_BETWEEN)
