"""Texts as tokens: a batch of texts becomes one array of integers, equal where the tokens are equal.

A tokenizer says of each character whether it is a token by itself, a part of a longer one, or nothing. So a
batch is cut with a few array operations, and only tokens of several characters are looked at one by one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["CHAR", "CHINESE", "MIXED", "Tokenizer", "Tokens"]

_PART, _ALONE, _NOTHING, _UNSEEN = range(4)
_CODE_POINTS = 0x110000


class Tokens(NamedTuple):
    """The tokens of several texts: `codes` (tokens,) int64 of all in order, `sizes` (texts,) int64 of each."""

    codes: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def lists(self) -> list[list[int]]:
        """The codes of each text."""
        codes, ends = self.codes.tolist(), np.cumsum(self.sizes).tolist()
        return [codes[end - size : end] for end, size in zip(ends, self.sizes.tolist(), strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Tokenizer:
    """How texts are cut: `prepare` rewrites a text first, `kind` tells what a character is."""

    kind: Callable[[str], int]
    prepare: Callable[[str], str] = str
    _kinds: NDArray[np.uint8] = field(
        default_factory=lambda: np.full(_CODE_POINTS, _UNSEEN, dtype=np.uint8), init=False, repr=False
    )

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """The tokens of the texts, size 0 for a text without any. Codes are of this one call."""
        prepared = [self.prepare(text) for text in texts]
        joined = "\n".join([*prepared, ""])  # a line break is nothing to every tokenizer
        points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.int64)
        kinds = self._of(points)
        part = kinds == _PART
        begins = part.copy()
        begins[1:] &= ~part[:-1]
        starts = np.flatnonzero(begins | (kinds == _ALONE))
        codes = points[starts]
        long = np.flatnonzero(part[starts] & part[np.minimum(starts + 1, len(points) - 1)])
        if len(long):
            codes[long] = _words(joined, starts[long], np.flatnonzero(~part), free=int(points.max()) + 1)
        bounds = np.cumsum([len(text) + 1 for text in prepared])
        return Tokens(codes, np.diff(np.searchsorted(starts, bounds), prepend=0))

    def _of(self, points: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The kind of each character; one not seen before is asked about, once."""
        kinds = self._kinds[points]
        new = np.unique(points[kinds == _UNSEEN]).tolist()
        if new:
            self._kinds[new] = [self.kind(chr(point)) for point in new]
            kinds = self._kinds[points]
        return kinds


def _words(text: str, starts: NDArray[np.int64], outside: NDArray[np.int64], *, free: int) -> list[int]:
    """A code from `free` on for each word: it begins at a start and ends before the next place `outside`."""
    ends = outside[np.searchsorted(outside, starts)]
    found: dict[str, int] = {}
    return [
        found.setdefault(text[start:end], free + len(found))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
    ]


def _char(char: str) -> int:
    return _NOTHING if char.isspace() else _ALONE


CHAR = Tokenizer(_char)
"""Each character that is no white space."""

_UNSPACED = (
    range(0x0E00, 0x0F00),  # Thai, Lao
    range(0x1000, 0x10A0),  # Burmese
    range(0x1780, 0x1800),  # Khmer
    range(0x2E80, 0x3200),  # radicals, kana, bopomofo
    range(0x3400, 0xA000),  # Chinese characters
    range(0xF900, 0xFB00),  # their compatibility forms
    range(0xFF66, 0xFFA0),  # half-width kana
    range(0x20000, 0x40000),  # rare Chinese characters
)
"""Scripts that put no space between words."""


def _mixed(char: str) -> int:
    category = unicodedata.category(char)
    if category == "So":
        return _ALONE  # emoji
    if category[0] not in "LMN":
        return _NOTHING
    return _ALONE if any(ord(char) in script for script in _UNSPACED) else _PART


MIXED = Tokenizer(_mixed, prepare=str.lower)
"""Each character of a script that puts no space between words, and each emoji; elsewhere runs of letters, marks and
digits, in lower case. Punctuation is nothing. On ASCII texts: the words of rouge-score's own tokenizer."""

_CHINESE_RANGES = (
    range(0x2001, 0x2A6E),  # sacrebleu's own table reads so, where it means rare characters
    range(0x2E80, 0x2FE0),
    range(0x2FF0, 0x3040),
    range(0x3100, 0x3130),
    range(0x31A0, 0x31F0),
    range(0x3200, 0x4DB6),
    range(0x4E00, 0x9FBC),
    range(0xF900, 0xFA2E),
    range(0xFA30, 0xFA6B),
    range(0xFA70, 0xFADA),
    range(0xFE10, 0xFE20),
    range(0xFE30, 0xFE50),
    range(0xFF00, 0xFFF0),
)
_SIGNS = frozenset('{|}~[\\]^_`!"#$%&()*+:;<=>?@/')
_STOPS = (
    (re.compile(r"([^0-9])([.,])"), r"\1 \2 "),
    (re.compile(r"([.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)
"""Full stops and commas stand alone unless a digit is on that side; a dash after a digit does."""


def _zh(char: str) -> int:
    if char.isspace():
        return _NOTHING
    return _ALONE if char in _SIGNS or any(ord(char) in script for script in _CHINESE_RANGES) else _PART


def _stops_apart(text: str) -> str:
    text = text.strip()
    if "." in text or "," in text or "-" in text:
        for pattern, apart in _STOPS:
            text = pattern.sub(apart, text)
    return text


CHINESE = Tokenizer(_zh, prepare=_stops_apart)
"""The tokens of sacrebleu's `tokenize="zh"`: each Chinese character and most ASCII signs, elsewhere words."""
