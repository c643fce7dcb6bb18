"""What the commands print: a run in ten seconds, the worst slices, one sample whole.

All text from outside is literal: its unseen characters are spelled out and nothing in it is markup. Colours
appear on terminals only; 80 columns are enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evalkit.contracts import EvalRecord, Outcome
from evalkit.report.channels import Channel
from evalkit.report.digest import Digest
from evalkit.report.figures import NOTHING, Figure, milliseconds, percent, share
from evalkit.report.fix_first import FIRST
from evalkit.report.fixing_text import first_view
from evalkit.report.notes import notes
from evalkit.report.prose import Prose
from evalkit.report.reasons import Reason
from evalkit.report.rich_tables import cell, label, table
from evalkit.report.sample import Section, layout
from evalkit.report.summary import state
from evalkit.report.text import one_line, visible
from evalkit.report.wording import drawn_together, times
from evalkit.report.worst import Direction, WorstRow

__all__ = ["sample_view", "summary_view", "worst_view"]

WORST, BAR, PAGE = 5, 16, "report.html"
_TIMES = {
    "ttft_ms": "first text",
    "ttft_from_schedule_ms": "… from when due",
    "total_ms": "whole answer",
    "total_from_schedule_ms": "… from when due",
}
"""The latencies that the summary shows, in this order."""


def summary_view(digest: Digest, *, files: Mapping[str, Path]) -> RenderableType:
    """The run in ten seconds: headline metrics, times, channels, worst intents, failures, what to fix first, where the files are."""
    return Group(
        _title(digest),
        _headline(digest),
        Text(""),
        _facts(digest),
        *_worst_intents(digest),
        _failures(digest),
        first_view(digest.suggestions[:FIRST]),
        *(cell(f"! {note}", "yellow", hang=2) for note in notes(digest)),
        _files(files),
    )


def worst_view(rows: Sequence[WorstRow], *, overall: Figure, cluster: str | None = None) -> RenderableType:
    """The slices in the given order, each with interval, count and error direction, the overall mean, and what was drawn."""
    found = table("slice", "mean>", "95% interval>", "counted>", "taken for", ">", "to win>")
    for row in rows:
        found.add_row(*_worst_cells(row), cell(_win(row)), style=_style(row.figure))
    whole = f"{overall.metric} {overall.value} overall, {overall.interval}, counted {overall.counted}"
    drawn = [cell(drawn_together(cluster), "dim")] if cluster else []
    return Group(cell(whole, "bold"), found, *drawn)


def sample_view(
    record: EvalRecord, reasons: Sequence[Reason] = (), outcome: Outcome | None = None
) -> RenderableType:
    """One sample whole: why it failed, what became of the task, its rules, what was asked, expected and observed, and every further field."""
    sections = layout(record, reasons, outcome)
    return Group(cell(record.key, "bold"), *(part for section in sections for part in _section(section)))


def _section(section: Section) -> Iterator[RenderableType]:
    grid = Table.grid(padding=(0, 2), expand=False)
    grid.add_column(overflow="fold", min_width=9, max_width=18)
    grid.add_column(overflow="fold", ratio=1)
    for name, text in section.rows:
        grid.add_row(cell(name, "dim"), Prose(visible(text)))
    yield Text(f"\n{section.title}", "bold")
    yield Padding(grid, (0, 0, 0, 2))


def _title(digest: Digest) -> Text:
    run, manifest = digest.run, digest.run.manifest
    about = [manifest.target, Path(manifest.eval_set).name] if manifest else []
    line = cell(run.run_id, "bold")
    line.append(
        f"\n{one_line(' · '.join([*about, times(digest.charged.n_total, 'sample'), state(run, digest.charged.n_total)]))}\n",
        "dim",
    )
    return line


def _headline(digest: Digest) -> RenderableType:
    if not digest.headline:
        return Text("No metric counted any sample: no labels, or no channel answered.\n", "yellow")
    found = table("metric", "mean>", "", "95% interval>", "counted>")
    for figure in digest.headline:
        cells = (cell(figure.metric), Text(figure.value), _bar(figure), Text(figure.interval))
        found.add_row(*cells, Text(figure.counted), style=_style(figure))
    return found


def _bar(figure: Figure) -> Text:
    """The mean as a bar, the interval after and before its end in a fainter line."""
    if figure.mean is None or not 0 <= figure.mean <= 1 or figure.metric.endswith("_ms"):
        return Text("")
    low = figure.mean if figure.ci_low is None else figure.ci_low
    high = figure.mean if figure.ci_high is None else figure.ci_high
    ends = [round(BAR * end) for end in (low, figure.mean, high, 1)]
    bar = Text("━" * ends[0], "cyan")
    bar.append("━" * (ends[1] - ends[0]), "dim cyan")
    bar.append("─" * (ends[2] - ends[1]), "dim")
    return bar.append(" " * (ends[3] - ends[2]))


def _facts(digest: Digest) -> RenderableType:
    grid = _grid()
    found = {row["name"]: row for row in digest.tables.latency.to_pylist()}
    for row in [found[name] for name in _TIMES if name in found]:
        if row["n_counted"] + row["n_censored"]:
            parts = [f"{name} {milliseconds(row[name], cut=row['censored_at'])}" for name in ("p50", "p95")]
            parts.append(f"counted {share(row['n_counted'], row['n_total'])}")
            parts += [f"{row['n_censored']} cut off"] if row["n_censored"] else []
            grid.add_row(Text(_TIMES[row["name"]]), Text(" · ".join(parts)))
    for channel in digest.channels:
        grid.add_row(Text(f"{channel.name} channel"), cell(_told(channel)))
    return grid


def _told(channel: Channel) -> str:
    parts = [f"ok {share(channel.statuses.get('ok', 0), channel.asked)}"]
    parts += [f"{status} {n}" for status, n in channel.statuses.items() if status != "ok"]
    parts += [f"asked again {channel.retried}"] if channel.retried else []
    return " · ".join(parts)


def _worst_intents(digest: Digest) -> Iterator[RenderableType]:
    rows = digest.worst_intents
    if not rows:
        return
    found = table("worst intents", f"{digest.main}>", "95% interval>", "counted>", "taken for", ">")
    for row in rows[:WORST]:
        found.add_row(*_worst_cells(row), style=_style(row.figure))
    yield Text("")
    yield found
    if len(rows) > WORST:
        yield Text(f"and {len(rows) - WORST} more", "dim")


def _worst_cells(row: WorstRow) -> tuple[Text, ...]:
    figure = row.figure
    numbers = (figure.value, figure.interval, figure.counted)
    return label(figure.slice), *map(Text, numbers), *_way(row.direction)


def _way(way: Direction | None) -> tuple[Text, Text]:
    """What a slice is mostly taken for, and how many of its errors that is."""
    if way is None:
        return Text(""), Text("")
    return label(way.predicted or "no intent"), Text(way.portion, "dim")


def _win(row: WorstRow) -> str:
    return f"+{percent(row.recoverable)}" if row.recoverable else NOTHING


def _failures(digest: Digest) -> Text:
    found = digest.charged
    line = Text("\nfailures  ", "bold")
    line.append(f"{found.n_failed} of {found.n_total} samples", "red" if found.n_failed else "green")
    parts = [f"{gate} {n}" for gate, n in found.by_gate.items() if n]
    parts += [f"not judged {found.n_unjudged}"] if found.n_unjudged else []
    return line.append(f"  first at: {' · '.join(parts)}" if parts else "").append("\n")


def _files(files: Mapping[str, Path]) -> RenderableType:
    """The page to open first, if there is one, then the other files by folder."""
    grid = _grid()
    page = files.get(PAGE)
    if page:
        grid.add_row(Text("report"), cell(str(page), "bold"))
    folders: dict[Path, list[str]] = {}
    for name, path in files.items():
        if name != PAGE:
            folders.setdefault(path.parent, []).append(name)
    for folder, names in folders.items():
        place = "beside it" if page and folder == page.parent else f"in {folder}/"
        grid.add_row(Text("files"), cell(f"{place}: {', '.join(names)}", "dim"))
    return grid


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(min_width=16, style="bold")
    grid.add_column(overflow="fold")
    return grid


def _style(figure: Figure) -> str:
    return "dim" if figure.few else ""
