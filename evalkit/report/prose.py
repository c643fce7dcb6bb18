"""Text for the terminal that is folded where Chinese may be: between its characters, not at spaces alone.

Rich takes a stretch without spaces for one word, and Chinese has no spaces: it would begin a new line for each
sentence, and leave the line before it half empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console, JustifyMethod, OverflowMethod
from rich.containers import Lines
from rich.text import Text

__all__ = ["Prose", "breaks"]

_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
_OPENING = "（《「『【〈〔［｛“‘"
_CLOSING = "，。、；：？！）》」』】〉〕］｝”’…—·％,.;:?!)%"
_UNIT = re.compile(rf"^\s+|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}{_OPENING}]+)?[{_CLOSING}]*\s*")
"""What stays on one line: a wide character or a word, with the punctuation that belongs to it, and spaces after it."""


def breaks(text: str, width: int, *, hang: int = 0) -> Iterator[int]:
    """Where each further line of the text begins: no line takes more than `width` cells, later ones `hang` less."""
    at = used = 0
    room = width
    for piece in _pieces(text, width - hang):
        if piece and used and used + cell_len(piece.rstrip()) > room:
            yield at
            used, room = 0, width - hang
        at += len(piece)
        used += cell_len(piece)


def _pieces(text: str, width: int) -> Iterator[str]:
    """The units of the text; one that is wider than a line falls into its characters."""
    for unit in _UNIT.findall(text):
        yield from [unit] if cell_len(unit.rstrip()) <= width else unit


class Prose(Text):
    """Text of which each line but the first begins `hang` cells further in."""

    hang: int = 0

    def wrap(
        self,
        console: Console,
        width: int,
        *,
        justify: JustifyMethod | None = None,
        overflow: OverflowMethod | None = None,
        tab_size: int = 8,
        no_wrap: bool | None = None,
    ) -> Lines:
        """The lines of the text; what may not be folded is left to Rich."""
        if no_wrap:
            return super().wrap(
                console, width, justify=justify, overflow=overflow, tab_size=tab_size, no_wrap=True
            )
        found = Lines()
        for line in self.split(allow_blank=True):
            line.expand_tabs(tab_size)
            parts = line.divide(breaks(line.plain, width, hang=self.hang))
            for number, part in enumerate(parts):
                part.rstrip()
                found.append(Text(" " * self.hang).append_text(part) if number and self.hang else part)
        return found
