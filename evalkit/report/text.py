"""Text from outside, made safe to look at: what cannot be seen is spelled out, what is too long is cut.

Each sink adds the escapes of its own syntax on top. The run's JSONL keeps every text as it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["CAP_BYTES", "capped", "is_chinese", "one_line", "storable", "visible"]

CAP_BYTES = 8 * 2**10
"""How much of one text a report shows; the rest is one command away."""

_UNSEEN: tuple[tuple[int, int], ...] = (
    (0x00, 0x1F),  # C0 controls: the escapes of terminals begin here
    (0x7F, 0x9F),  # DEL and the C1 controls
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # Arabic letter mark
    (0x115F, 0x1160),  # Hangul fillers: letters without a shape
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),  # Mongolian selectors
    (0x200B, 0x200F),  # zero-width characters and direction marks
    (0x2028, 0x202E),  # line separators, embeddings and overrides of direction
    (0x2060, 0x206F),  # invisible operators, isolates of direction
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # halves of surrogate pairs
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x13430, 0x1345F),  # joiners of hieroglyphs
    (0x1BCA0, 0x1BCA3),  # shorthand controls
    (0x1D173, 0x1D17A),  # beams and slurs
    (0xE0000, 0xE0FFF),  # tags and selectors, which spell words that nobody sees
)


def _class(ranges: Iterable[tuple[int, int]], *, without: str = "") -> str:
    """A regular expression for one character of these ranges."""
    kept = f"(?![{without}])" if without else ""
    return kept + "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"


_HIDDEN = re.compile(_class(_UNSEEN, without="\\n\\t"))
_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_SPACES = re.compile(r"[ \t\r\n\x0b\x0c]+")


def visible(text: str) -> str:
    """The text with every unseen character but newline and tab spelled as its escape: `\\x1b`, `\\u202e`."""
    return _HIDDEN.sub(lambda found: _escape(ord(found[0])), text)


def _escape(code: int) -> str:
    if code <= 0xFF:  # noqa: PLR2004
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004


def one_line(text: str) -> str:
    """The visible text on one line: any run of spaces, tabs and line ends becomes one space."""
    return visible(_SPACES.sub(" ", text).strip(" "))


def capped(text: str, limit: int = CAP_BYTES) -> tuple[str, int]:
    """The first `limit` bytes of the text in UTF-8, whole characters only, and how many bytes were cut."""
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return text, 0
    while raw[limit] & 0xC0 == 0x80:  # noqa: PLR2004  # the next byte continues a character
        limit -= 1
    return raw[:limit].decode("utf-8", "surrogatepass"), len(raw) - limit


def storable(text: str) -> str:
    """The text as UTF-8 can hold it: half of a surrogate pair is spelled `\\ud83d`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def is_chinese(text: str) -> bool:
    """Whether the text has a Han character, so that a reader or a browser should take it as Chinese."""
    return _HAN.search(text) is not None
