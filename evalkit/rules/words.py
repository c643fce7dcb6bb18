"""Words in a text, as people read them: whatever their width, case and spacing, and numbers as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from evalkit.finding.folding import fold

__all__ = ["NORMALIZERS", "Normalizer", "spans"]

Normalizer: TypeAlias = Literal["nfkc_casefold", "exact"]

_GROUP = re.compile(r"\d{3}(?!\d)")


def _as_it_is(text: str) -> str:
    return text


NORMALIZERS: dict[Normalizer, Callable[[str], str]] = {"nfkc_casefold": fold, "exact": _as_it_is}
"""How texts are made alike before they are compared."""


def spans(word: str, text: str) -> Iterator[tuple[int, int]]:
    """Where the word stands in the text, both normalised, as [start, end).

    Where it begins or ends in a digit it stands for a whole number: it is no part of a longer one, nor of a
    decimal (`13` is not in `13.5`, nor `500` in `1,500`).
    """
    before = r"(?<!\d)(?<!\d[.])" if word[:1].isdigit() else ""
    before += r"(?<!\d,)" if _GROUP.match(word) else ""
    after = r"(?!\d|\.\d|,\d{3}(?!\d))" if word[-1:].isdigit() else ""
    for match in re.finditer(before + re.escape(word) + after, text):
        yield match.span()
