"""Tables for the terminal: no lines, numbers to the right and whole, and every text in them literal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from evalkit.report.prose import Prose
from evalkit.report.text import one_line

__all__ = ["cell", "label", "table"]


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


def cell(text: str, style: str = "", *, hang: int = 0) -> Text:
    """A text from outside as it may stand on a terminal, later lines `hang` cells further in where it is folded."""
    found = Prose(one_line(text), style)
    found.hang = hang
    return found


def label(text: str, style: str = "", *, indent: int = 0) -> Text:
    """A name that keeps to one line of its column: where there is no room it ends in `…`."""
    return Text(" " * indent + one_line(text), style, no_wrap=True, overflow="ellipsis")
