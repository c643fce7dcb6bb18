"""What `gate` and `diff` print: verdict first, then what decided it, what changed, and which samples flipped.

All text from outside is literal and its unseen characters are spelled out; 80 columns are enough.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalkit.report.change import Change
from evalkit.report.compare import Comparison, Flip
from evalkit.report.prose import Prose
from evalkit.report.text import one_line
from evalkit.report.verdict import Check, Verdict
from evalkit.report.verdict_rows import (
    ChangeRow,
    change_row,
    flips_by_metric,
    headlines,
    moved_slices,
    noise,
    overall_changes,
    unpaired,
    yardstick,
)
from evalkit.report.wording import NOTHING, by_hand, drawn_together, times

__all__ = ["brief_view", "comparison_view", "details_view", "headline_view", "verdict_view"]

SHOWN, FEW, NAMED, ANSWER = 10, 5, 3, 200
_HEAD = re.compile("[:,]")
_BUSY = "a busier machine moves every time of a run: believe one that comes again in a second run"
_COLOURS = {
    "PASS": "green",
    "REGRESSION": "red",
    "CANNOT DECIDE": "yellow",
    "refused": "yellow",
    "cannot decide": "yellow",
    "suspect": "yellow",
    "lost": "yellow",
    "worse": "red",
    "better": "green",
    "undecided": "",
    "same": "dim",
}


def headline_view(verdict: Verdict) -> RenderableType:
    """The verdict and what decided it, in one line."""
    return _line(verdict.headline, f"bold {_COLOURS[verdict.verdict]}")


def brief_view(verdict: Verdict) -> RenderableType:
    """The verdict and the first check that decided it: what stands over a summary, with the details under it."""
    return _line(verdict.brief, f"bold {_COLOURS[verdict.verdict]}")


def verdict_view(verdict: Verdict) -> RenderableType:
    """The verdict with the checks that failed or are flagged, what changed, and the notes."""
    return Group(headline_view(verdict), details_view(verdict))


def details_view(verdict: Verdict) -> RenderableType:
    """What stands behind a verdict; a slice that has a check above is not among those that moved."""
    against = f" against {verdict.base_id or 'an unnamed base'}" if verdict.comparison else ""
    told = {(check.metric, check.slice) for check in (*verdict.failing, *verdict.flagged)[:SHOWN]}
    return Group(
        _line(f"run {verdict.run_id or 'unnamed'}{against}, exit code {verdict.exit_code}", "dim"),
        *_checks("did not pass", verdict.failing),
        *_checks("passed, and worth a look", verdict.flagged),
        *(_compared(verdict.comparison, told=told, rows=FEW) if verdict.comparison else ()),
        *(_times(verdict.comparison, told=told) if verdict.comparison else ()),
        *(_line(f"! {note}", "yellow") for note in verdict.notes),
    )


def comparison_view(comparison: Comparison, *, flips: int = SHOWN) -> RenderableType:
    """The comparison: its headlines, changes overall and by slice, cases that differ, so many flips a metric, and times."""
    base, run = comparison.base_id or "unnamed", comparison.run_id or "unnamed"
    return Group(
        *(_line(text, f"bold {_COLOURS.get(_HEAD.split(text)[0], '')}") for text in headlines(comparison)),
        _line(f"{base} → {run}: {times(comparison.n_common, 'sample')} in common", "dim"),
        *([_line(f"! {by_hand(comparison.overridden)}", "yellow")] if comparison.overridden else ()),
        *([_line(drawn_together(comparison.cluster), "dim")] if comparison.cluster else ()),
        *_compared(comparison),
        *_keys(comparison),
        *_flips(comparison, flips),
        *_times(comparison),
    )


def _checks(title: str, checks: Sequence[Check]) -> Iterator[RenderableType]:
    if checks:
        yield _line(f"\n{title}", "bold")
    for check in checks[:SHOWN]:
        yield _line(f"{check.verdict}  {check.title}", _COLOURS[check.verdict])
        parts = [f"found {check.found_text}"] if check.found_text else []
        parts += [f"wanted {check.wanted_text}"] if check.wanted_text else []
        found = [] if check.name == "regression" else [_line(", ".join([*parts, f"n = {check.n}"]))]
        yield Padding(Group(*found, _line(check.reason, "dim")), (0, 0, 0, 2))
    yield from _rest(checks, SHOWN)


def _compared(
    comparison: Comparison, *, told: Container[tuple[str, str]] = (), rows: int = SHOWN
) -> Iterator[RenderableType]:
    """What changed but times; slices whose check is `told` already are left out, and so many of the others shown."""
    whole = overall_changes(comparison)
    slices = [c for c in moved_slices(comparison) if not c.is_time and _place(c) not in told]
    moved = [change for change in whole if not change.is_time and change.verdict != "same"]
    still = [change.metric for change in whole if change.verdict == "same"]
    short = [f"{change.metric} ({times(change.lost, 'sample')})" for change in whole if change.lost]
    yield from _changes("overall", comparison, moved, rows=None)
    if still:
        yield _line(f"no case moved in {_some(still)}", "dim")
    if short:
        yield _line(f"lost by the run: {_some(short)}", "yellow")
    yield from _changes("slices that moved", comparison, slices, rows=rows)
    if whole:
        yield _line(yardstick(comparison), "dim")


def _times(comparison: Comparison, *, told: Container[tuple[str, str]] = ()) -> Iterator[RenderableType]:
    """The times that changed, after all else: each run has its own, as its machine was busy."""
    whole = [change for change in overall_changes(comparison) if change.is_time and change.verdict != "same"]
    slices = [c for c in moved_slices(comparison) if c.is_time and _place(c) not in told]
    restless = [change.metric for change in whole if noise(change)]
    proven = [change for change in whole if not noise(change)]
    yield from _changes("times overall", comparison, proven, rows=None)
    if restless:
        yield _line(f"moved no more than chance may: {_some(restless)}", "dim")
    yield from _changes("times by slice", comparison, slices, rows=FEW)
    if not all(change.gone for change in (*proven, *slices)):
        yield _line(_BUSY, "dim")


def _changes(
    title: str, comparison: Comparison, changes: Sequence[Change], *, rows: int | None
) -> Iterator[RenderableType]:
    """Each change with its name on a line of its own, so that no column can break it."""
    if not changes:
        return
    yield _line(f"\n{title} (change with 95 % interval, cases worse/better, p)", "bold")
    for change in changes[:rows]:
        row = change_row(change, comparison)
        yield _line(f"{row.verdict}  {row.name}", _COLOURS.get(row.verdict, ""))
        yield Padding(_line(_numbers(row, comparison), "dim"), (0, 0, 0, 2))
    yield from _rest(changes, rows) if rows else ()


def _place(change: Change) -> tuple[str, str]:
    """The metric and slice of a slice's change, as its check has them."""
    return change.metric, f"{change.dimension}={change.slice}"


def _numbers(row: ChangeRow, comparison: Comparison) -> str:
    """The numbers of a change, its units told once; of what the run lost, how much that was."""
    if row.verdict == "lost":
        return row.moved
    interval = f" ({row.interval.removesuffix(' points')})" if row.interval != NOTHING else ""
    adjusted = (
        f", {'Holm' if comparison.family_wise else 'q'} {row.adjusted}" if row.adjusted != NOTHING else ""
    )
    return f"{row.base} → {row.run}, {row.delta}{interval}, {row.moved}, p {row.p}{adjusted}"


def _some(names: Sequence[str]) -> str:
    """The first of some metrics, and how many more there are."""
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {times(rest, 'more metric')}" if rest > 0 else "")


def _keys(comparison: Comparison) -> Iterator[RenderableType]:
    """The samples that are not in both, or not the same in both."""
    for name, keys in unpaired(comparison).items():
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


def _rest(items: Sequence[object], shown: int) -> Iterator[RenderableType]:
    if len(items) > shown:
        yield _line(f"and {len(items) - shown} more; `--json` has them all", "dim")


def _line(text: str, style: str = "") -> Text:
    """The text as it is, on lines of its own; a first `\\n` sets it apart."""
    return Prose(("\n" if text.startswith("\n") else "") + one_line(text), style)
