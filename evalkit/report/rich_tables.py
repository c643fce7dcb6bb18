"""Tables for the terminal: no lines, numbers to the right, and every cell literal on one line."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from evalkit.report.text import one_line

__all__ = ["cell", "table"]


def table(*names: str) -> Table:
    """A table with these heads; one that ends in `>` heads a column of numbers, which is never broken."""
    found = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in names:
        number = name.endswith(">")
        found.add_column(
            cell(name.removesuffix(">")),
            justify="right" if number else "left",
            no_wrap=number,
            overflow="fold",
        )
    return found


def cell(text: str, style: str = "") -> Text:
    """A text from outside as it may stand on a terminal."""
    return Text(one_line(text), style)
