"""What a Markdown report is made of: code spans, fenced blocks and tables that no text from outside can break."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from evalkit.report.text import capped, one_line, visible

__all__ = ["fenced", "row_of", "rows_of", "span", "with_rest"]

CELL = 120
BAR = "│"
"""Stands in tables for a pipe: escaped, it would end its cell after a backslash of the text's own."""

_TICKS = re.compile("`+")


def span(text: str, limit: int = CELL) -> str:
    """The text as one code span, on one line, cut after `limit` characters."""
    line = one_line(text[: limit + 1])
    if not line:
        return ""
    line = line if len(text) <= limit else f"{line[:limit]}…"
    ticks = _fence(line, least=1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def fenced(text: str) -> str:
    """The text as one fenced block, cut at 8 KiB."""
    head, cut = capped(text)
    ticks = _fence(head, least=3)
    more = f"\n… {cut:,} more bytes" if cut else ""
    return f"{ticks}text\n{visible(head)}{more}\n{ticks}"


def _fence(text: str, *, least: int) -> str:
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    return "`" * max(least, longest + 1)


def rows_of(head: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> str:
    """A table whose cells are safe already; the columns after the first are numbers where `:` says so."""
    lines = [row_of(row) for row in rows]
    if not lines:
        return nothing
    names = [name.removesuffix(":") for name in head]
    marks = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join([row_of(names), row_of(marks), *lines])


def row_of(cells: Sequence[str]) -> str:
    """One row of a table, its cells safe already but for pipes, which give way to what looks like them."""
    return f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |"


def with_rest(block: str, rest: int, file: str) -> str:
    """The block, and where the rest of its rows are."""
    return f"{block}\n\n{rest} more are in {file}." if rest > 0 else block
