"""A verdict in Markdown: a comment on a pull request, cut to its room, or two sections of the report.

Text from outside stands in code spans only, so that no link, image, mention or markup of its own survives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from evalkit.report.change import Change
from evalkit.report.compare import Comparison, Flip
from evalkit.report.markdown_cells import row_of, span
from evalkit.report.verdict import Check, Verdict
from evalkit.report.verdict_rows import change_row, flips_by_metric, moved_slices, overall_changes, yardstick

__all__ = ["flips_blocks", "verdict_blocks", "verdict_markdown"]

LIMIT = 60_000
"""GitHub cuts comments at 65,536 characters."""

_SENTENCE, _ANSWER, _ROOM, _ROWS = 600, 160, 200, 50
_SHOWN = 20
"""How many rows of one table stand in the report."""
_CHECK = ("Check", "Found", "Wanted", "n", "Why")
_SIGNS = {"PASS": "✅", "REGRESSION": "❌", "CANNOT DECIDE": "⚠️"}


class _Table(NamedTuple):
    """A table under its title; its rows are made only for as long as there is room."""

    title: str
    head: Sequence[str]
    rows: Iterable[Sequence[str]]
    n: int


def verdict_markdown(verdict: Verdict) -> bytes:
    """The verdict in Markdown, UTF-8, under 60,000 characters; what was cut is counted."""
    text = "\n".join(_head(verdict)) + "\n"
    for table in _tables(verdict):
        text += _written(table, room=LIMIT - len(text) - _ROOM)
    return text.encode("utf-8", "backslashreplace")


def verdict_blocks(verdict: Verdict) -> Iterator[str]:
    """The section "Verdict" of the report: the word, what decided it, checks to look at, and what moved."""
    yield "## Verdict"
    yield f"**{_SIGNS[verdict.verdict]} {verdict.verdict}** {_sides(verdict)}"
    yield span(verdict.sentence, _SENTENCE)
    yield from (f"> {span(note, _SENTENCE)}" for note in verdict.notes[:_ROWS])
    yield from _shown([*_to_look_at(verdict), *(_moved(verdict.comparison) if verdict.comparison else ())])


def flips_blocks(verdict: Verdict) -> Iterator[str]:
    """The section "Flips" of the report: samples that a gated metric sees otherwise now; none without a base."""
    if verdict.comparison is None:
        return
    yield "## Flips"
    found = list(_shown(_flipped(verdict.comparison)))
    yield from found or ["No sample flipped."]
    if found:
        yield f"Texts end after {_ANSWER} characters; report.html has more of them."


def _shown(tables: Iterable[_Table]) -> Iterator[str]:
    """Each table with its first rows, and how many more there are."""
    for table in tables:
        if table.n:
            rows = "\n".join(map(row_of, islice(table.rows, _SHOWN)))
            yield f"### {table.title}"
            yield f"{row_of(table.head)}\n{row_of(['---'] * len(table.head))}\n{rows}"
        if table.n > _SHOWN:
            yield f"{table.n - _SHOWN} more: `evalkit gate --json` has them."


def _sides(verdict: Verdict) -> str:
    against = f" against {span(verdict.base_id or 'an unnamed base')}" if verdict.comparison else ""
    return f"Run {span(verdict.run_id or 'unnamed')}{against}, exit code {verdict.exit_code}."


def _head(verdict: Verdict) -> Iterator[str]:
    yield f"## {_SIGNS[verdict.verdict]} {verdict.verdict}"
    yield ""
    yield _sides(verdict)
    yield ""
    yield span(verdict.headline, _SENTENCE)
    yield ""
    yield from (f"- {span(note, _SENTENCE)}" for note in verdict.notes[:_ROWS])
    if verdict.comparison and not verdict.comparison.refused:
        yield f"- {span(yardstick(verdict.comparison), _SENTENCE)}"


def _tables(verdict: Verdict) -> Iterator[_Table]:
    yield from _to_look_at(verdict)
    if verdict.comparison is not None:
        yield from _moved(verdict.comparison)
        yield from _flipped(verdict.comparison)
    passed = [check for check in verdict.checks if check not in {*verdict.failing, *verdict.flagged}]
    yield _Table("What passed", _CHECK, map(_check, passed), len(passed))


def _to_look_at(verdict: Verdict) -> Iterator[_Table]:
    failing, flagged = verdict.failing, verdict.flagged
    yield _Table("What did not pass", ("Verdict", *_CHECK), _failing(failing), len(failing))
    yield _Table("Passed, and worth a look", _CHECK, map(_check, flagged), len(flagged))


def _failing(checks: Sequence[Check]) -> Iterator[Sequence[str]]:
    return ((check.verdict, *_check(check)) for check in checks)


def _check(check: Check) -> Sequence[str]:
    cells = (check.title, check.found_text, check.wanted_text, str(check.n))
    return tuple(span(cell, _SENTENCE) for cell in (*cells, check.reason))


def _moved(comparison: Comparison) -> Iterator[_Table]:
    adjusted = "p after Holm" if comparison.family_wise else "q"
    head = ("Metric", "Base", "Run", "Change", "95 % interval", "p", adjusted, "Cases worse/better", "")
    whole, slices = overall_changes(comparison), moved_slices(comparison)
    yield _Table("What moved overall", head, _changes(comparison, whole), len(whole))
    yield _Table("Slices that moved", head, _changes(comparison, slices), len(slices))


def _flipped(comparison: Comparison) -> Iterator[_Table]:
    for metric, flips in flips_by_metric(comparison).items():
        worse = [flip for flip in flips if flip.worse]
        title = f"{span(metric)}: {len(worse)} right → wrong, {len(flips) - len(worse)} wrong → right"
        columns = ("Sample", "Query", "Intent", "Before", "Now", "Answer before", "Answer now")
        yield _Table(title, columns, map(_flip, flips), len(flips))


def _changes(comparison: Comparison, changes: Sequence[Change]) -> Iterator[Sequence[str]]:
    rows = (change_row(change, comparison) for change in changes)
    return ((span(row.name, _SENTENCE), *row[1:]) for row in rows)


def _flip(flip: Flip) -> Sequence[str]:
    texts = (flip.query, flip.intent_l2, flip.base_pred, flip.run_pred, flip.base_response, flip.run_response)
    sign = "❌ " if flip.worse else "✅ "
    return (sign + span(flip.key, _SENTENCE), *(span(text or "", _ANSWER) for text in texts))


def _written(table: _Table, *, room: int) -> str:
    """The table, or as many of its rows as there is room for, and how many are left out."""
    if not table.n:
        return ""
    text = "\n".join(
        ("", f"### {table.title}", "", row_of(table.head), row_of(["---"] * len(table.head)), "")
    )
    if len(text) > room:
        return f"\n{table.n} rows of “{table.title}” are left out; the JSON has them.\n"
    shown = 0
    for cells in table.rows:
        row = row_of(cells) + "\n"
        if len(text) + len(row) > room or shown == _ROWS:
            break
        text, shown = text + row, shown + 1
    rest = table.n - shown
    return text + (f"\n{rest} more are left out; the JSON has them.\n" if rest else "")
