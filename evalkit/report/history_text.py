"""What `evalkit history` prints: a line for each metric and slice, drawn in eight heights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from evalkit.report.history import Point, Series, Step, Track
from evalkit.report.rich_tables import cell, label, table
from evalkit.report.wording import NOTHING, difference, number, probability, times

__all__ = ["history_view", "sparkline"]

HEIGHTS = "▁▂▃▄▅▆▇█"
GAP = "·"


def history_view(found: Sequence[Track], *, limit: int) -> RenderableType:
    """Each track with its series, of each metric at most the `limit` slices that moved most."""
    return Group(*(part for track in found for part in _track(track, limit)))


def sparkline(points: Sequence[Point]) -> str:
    """The means between their smallest (▁) and largest (█); all alike stand in the middle, a dot has none."""
    means = [point.mean for point in points if point.mean is not None]
    low, high = min(means, default=0.0), max(means, default=0.0)
    return "".join(_height(point.mean, low, high) for point in points)


def _height(mean: float | None, low: float, high: float) -> str:
    if mean is None:
        return GAP
    if high == low:
        return HEIGHTS[len(HEIGHTS) // 2]
    return HEIGHTS[min(len(HEIGHTS) - 1, int((mean - low) / (high - low) * len(HEIGHTS)))]


def _track(track: Track, limit: int) -> Iterator[RenderableType]:
    first, last = track.runs[0], track.runs[-1]
    yield cell(f"{track.target} on {track.eval_set} ({track.eval_set_sha256[:12]})", "bold")
    yield cell(
        f"{times(len(track.runs), 'run')}, {first[1]:%Y-%m-%d %H:%M} to {last[1]:%Y-%m-%d %H:%M}", "dim"
    )
    partial = [run for run, _, complete in track.runs if not complete]
    if partial:
        yield cell(f"! not complete: {', '.join(partial)}", "yellow")
    grid = table("metric", "trend", "first>", "last>", "change>", "counted>")
    chosen = _chosen(track.series, limit)
    for each in chosen:
        grid.add_row(*_row(each))
    yield grid
    if rest := len(track.series) - len(chosen):
        yield cell(f"and {times(rest, 'more slice')}", "dim")
    yield from (_told(each, step) for each in track.series for step in _found(each))
    yield Text("")


def _chosen(series: Sequence[Series], limit: int) -> list[Series]:
    """The series in their order, of the slices of a metric those that moved most, proven ones before all."""
    chosen: list[Series] = [each for each in series if not each.slice]
    for metric in dict.fromkeys(each.metric for each in series):
        slices = [each for each in series if each.slice and each.metric == metric]
        chosen += sorted(slices, key=_unmoved)[:limit]
    return sorted(chosen, key=series.index)


def _unmoved(each: Series) -> tuple[bool, float, int]:
    """What sorts the slices that moved most before the others."""
    return not _found(each), -abs(_change(each) or 0.0), -sum(step.worse + step.better for step in each.steps)


def _found(each: Series) -> list[Step]:
    """What is proven of the line: its breaks, or its drift where no single step is."""
    if each.breaks:
        return list(each.breaks)
    return [each.drift] if each.drift and each.drift.proven else []


def _change(each: Series) -> float | None:
    first, last = each.points[0].mean, each.points[-1].mean
    return None if first is None or last is None else last - first


def _row(each: Series) -> tuple[Text | str, ...]:
    first, last = each.points[0], each.points[-1]
    return (
        label(each.slice, indent=2) if each.slice else label(each.metric, "bold"),
        sparkline(each.points),
        number(first.mean, each.metric, each.facts),
        number(last.mean, each.metric, each.facts),
        NOTHING if len(each.points) == 1 else difference(_change(each), each.metric, each.facts),
        f"{last.n_counted}/{last.n_total}",
    )


def _told(each: Series, step: Step) -> Text:
    """A break in words: where, how much, how many cases, how sure."""
    fell = (step.delta or 0.0) < 0
    bad = fell != each.facts.lower_is_better
    what = f"{each.metric} {each.slice}".rstrip()
    moved = (
        f"{difference(step.delta, each.metric, each.facts)}, {step.worse} worse and {step.better} better of"
    )
    line = f"{'▼' if fell else '▲'} {what} at {step.later}: {moved} {times(step.n_cases, 'case')}"
    if step is each.drift:
        line += f" since {step.earlier}"
    return cell(
        f"{line}; p = {probability(step.p)}, {probability(step.p_holm)} after Holm", "red" if bad else "green"
    )
