"""What `gate` and `diff` print: verdict first, then what decided it, what changed, and which samples flipped.

All text from outside is literal and its unseen characters are spelled out; 80 columns are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalkit.report.change import Change
from evalkit.report.compare import Comparison, Flip
from evalkit.report.text import one_line
from evalkit.report.verdict import Check, Verdict
from evalkit.report.verdict_rows import ChangeRow, change_row, flips_by_metric, moved_slices, overall_changes
from evalkit.report.wording import NOTHING, times

__all__ = ["comparison_view", "headline_view", "verdict_view"]

SHOWN, ANSWER = 10, 200
_COLOURS = {
    "PASS": "green",
    "REGRESSION": "red",
    "CANNOT DECIDE": "yellow",
    "worse": "red",
    "better": "green",
    "undecided": "",
    "same": "dim",
}


def headline_view(verdict: Verdict) -> RenderableType:
    """The verdict and what decided it, in one line."""
    return _line(verdict.headline, f"bold {_COLOURS[verdict.verdict]}")


def verdict_view(verdict: Verdict) -> RenderableType:
    """The verdict with the checks that failed or are flagged, what changed, and the notes."""
    against = f" against {verdict.base_id or 'an unnamed base'}" if verdict.comparison else ""
    return Group(
        headline_view(verdict),
        _line(f"run {verdict.run_id or 'unnamed'}{against}, exit code {verdict.exit_code}", "dim"),
        *_checks("did not pass", verdict.failing),
        *_checks("passed, and worth a look", verdict.flagged),
        *(_compared(verdict.comparison) if verdict.comparison else ()),
        *(_line(f"! {note}", "yellow") for note in verdict.notes),
    )


def comparison_view(comparison: Comparison, *, flips: int = SHOWN) -> RenderableType:
    """The comparison: refusals, changes overall and by slice, cases that differ, and so many flips a metric."""
    base, run = comparison.base_id or "unnamed", comparison.run_id or "unnamed"
    return Group(
        _line(f"{base} → {run}: {times(comparison.n_common, 'sample')} in common", "bold"),
        *(_line(f"refused: {refusal.text}", "bold yellow") for refusal in comparison.refusals),
        *_compared(comparison),
        *_keys(comparison),
        *_flips(comparison, flips),
    )


def _checks(title: str, checks: Sequence[Check]) -> Iterator[RenderableType]:
    if checks:
        yield _line(f"\n{title}", "bold")
    for check in checks[:SHOWN]:
        yield _line(f"{check.verdict}  {check.title}", _COLOURS[check.verdict])
        parts = [f"found {check.found_text}"] if check.found_text else []
        parts += [f"wanted {check.wanted_text}"] if check.wanted_text else []
        told = ", ".join([*parts, f"n = {check.n}"])
        yield Padding(Group(_line(told), _line(check.reason, "dim")), (0, 0, 0, 2))
    yield from _rest(checks)


def _compared(comparison: Comparison) -> Iterator[RenderableType]:
    whole = overall_changes(comparison)
    still = [change.metric for change in whole if change.verdict == "same"]
    yield from _changes("overall", comparison, [c for c in whole if c.verdict != "same"], rows=None)
    if still:
        yield _line(f"no case moved in {', '.join(still)}", "dim")
    yield from _changes("slices that moved", comparison, moved_slices(comparison), rows=SHOWN)


def _changes(
    title: str, comparison: Comparison, changes: Sequence[Change], *, rows: int | None
) -> Iterator[RenderableType]:
    if not changes:
        return
    adjusted = "Holm" if comparison.family_wise else "q"
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(title, overflow="fold", min_width=12)
    for name in ("base → run", "change, 95 %", "p", adjusted, "worse/better"):
        table.add_column(name, justify="right", overflow="fold")
    table.add_column("", no_wrap=True)
    for change in changes[:rows]:
        table.add_row(*map(_line, _cells(change_row(change, comparison))), style=_COLOURS[change.verdict])
    yield Text("")
    yield table
    yield from _rest(changes) if rows else ()


def _cells(row: ChangeRow) -> tuple[str, ...]:
    """The row with its units told once."""
    delta, interval = (text.removesuffix(" points") for text in (row.delta, row.interval))
    moved = f"{delta} ({interval})" if interval != NOTHING else delta
    return row.name, f"{row.base} → {row.run}", moved, row.p, row.adjusted, row.moved, row.verdict


def _keys(comparison: Comparison) -> Iterator[RenderableType]:
    """The samples that are not in both, or not the same in both."""
    for name in ("added", "removed", "changed"):
        keys: tuple[str, ...] = getattr(comparison, name)
        if keys:
            more = f", … {len(keys) - SHOWN} more" if len(keys) > SHOWN else ""
            yield _line(f"{name} {len(keys)}: {', '.join(keys[:SHOWN])}{more}", "yellow")
    if comparison.renamed:
        yield _line(f"{times(len(comparison.renamed), 'case')} paired by content: their ids moved", "yellow")


def _flips(comparison: Comparison, shown: int) -> Iterator[RenderableType]:
    for metric, flips in flips_by_metric(comparison).items():
        worse = sum(flip.worse for flip in flips)
        yield _line(f"\n{metric}: {worse} right → wrong, {len(flips) - worse} wrong → right", "bold")
        for flip in flips[:shown]:
            yield from _flip(flip)
        if len(flips) > shown:
            yield _line(f"and {len(flips) - shown} more; --json has them all", "dim")


def _flip(flip: Flip) -> Iterator[RenderableType]:
    way = "right → wrong" if flip.worse else "wrong → right"
    yield _line(f"{flip.key}  {way}  {_cut(flip.query)}", "red" if flip.worse else "green")
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    for name, pred, answer in (
        ("before", flip.base_pred, flip.base_response),
        ("now", flip.run_pred, flip.run_response),
    ):
        grid.add_row(Text(name), _line(f"[{pred or 'no intent'}] {_cut(answer or 'no answer')}"))
    yield Padding(grid, (0, 0, 0, 2))


def _cut(text: str) -> str:
    return text if len(text) <= ANSWER else f"{text[:ANSWER]}…"


def _rest(items: Sequence[object]) -> Iterator[RenderableType]:
    if len(items) > SHOWN:
        yield _line(f"and {len(items) - SHOWN} more; --json has them all", "dim")


def _line(text: str, style: str = "") -> Text:
    """The text as it is, on one line of its own; a first `\\n` sets it apart."""
    return Text(("\n" if text.startswith("\n") else "") + one_line(text), style)
