"""What `evalkit fix` prints, and the three things to fix first that stand under every summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from evalkit.report.directions import ErrorDirection
from evalkit.report.doubtful import Doubt
from evalkit.report.figures import FEW, NOTHING, percent, share
from evalkit.report.fix_first import FixFirst
from evalkit.report.funnel import Funnel
from evalkit.report.gains import Gain, points
from evalkit.report.intent_tree import IntentTree, TreeRow
from evalkit.report.rich_tables import cell, label, table
from evalkit.report.suggestions import Suggestion
from evalkit.report.wording import drawn_together, times

__all__ = ["first_view", "fix_view"]

KEYS = 5
_HANG = 3
_TINY = 0.001


def first_view(found: Sequence[Suggestion]) -> RenderableType:
    """The few things to fix first, each with its expected gain and samples to look at; empty without failures."""
    if not found:
        return Group()
    lines: list[RenderableType] = [
        Text("fix first", "bold").append("  by what it wins at least, in points of all samples", "dim")
    ]
    for number, each in enumerate(found, 1):
        lines.append(_headed(number, each))
        lines.append(Padding(cell(f"see {_keys(each)}", "dim"), (0, 0, 0, _HANG)))
    return Group(*lines, Text(""))


def fix_view(found: FixFirst, *, limit: int) -> RenderableType:
    """All of it, with at most `limit` rows of each list: suggestions, funnel, tree, directions, doubtful labels."""
    return Group(
        *_suggestions(found.suggestions, limit),
        *_funnel(found.funnel),
        *(_tree(found.tree, limit) if found.tree else ()),
        *_directions(found.directions, limit),
        *_doubts(found.doubts, limit),
        *([cell(drawn_together(found.cluster), "dim")] if found.cluster else ()),
    )


def _headed(number: int, each: Suggestion) -> Text:
    line = cell(f"{number}. {each.title}", hang=_HANG)
    line.stylize("bold", 0, len(f"{number}."))
    return line.append(f"  {each.gain.told}", "green")


def _suggestions(found: Sequence[Suggestion], limit: int) -> Iterator[RenderableType]:
    yield Text("what to fix first, by the lower bound of what it wins", "bold")
    if not found:
        yield Text("No sample failed.", "green")
    for number, each in enumerate(found[:limit], 1):
        yield _headed(number, each)
        yield Padding(Group(*_details(each)), (0, 0, 0, _HANG))
    yield from _rest(found, limit)


def _details(each: Suggestion) -> Iterator[Text]:
    yield cell(each.advice, "dim")
    yield cell(
        f"samples: {_keys(each)}" + (f"; {each.again} break a later gate too" if each.again else ""), "dim"
    )
    yield from (cell(f"“{example.query}”", "dim italic") for example in each.examples)


def _keys(each: Suggestion) -> str:
    more = f" and {each.n - KEYS} more" if each.n > KEYS else ""
    return ", ".join(each.keys[:KEYS]) + more


def _funnel(found: Funnel) -> Iterator[RenderableType]:
    yield Text(f"\nfunnel: {times(found.failed, 'failure')} of {times(found.judged, 'sample')}", "bold")
    grid = table("gate", "entered>", "failed>", "passed on>", "to win>", "first reasons")
    for stage in found.stages:
        kinds = ", ".join(f"{kind.replace('_', ' ')} {n}" for kind, n in stage.kinds.items())
        grid.add_row(
            Text(stage.gate),
            str(stage.entered),
            str(stage.charged),
            str(stage.left),
            _win(stage.gain) if stage.charged else "",
            cell(kinds, "dim"),
        )
    yield grid
    if found.unjudged:
        yield Text(
            f"{times(found.unjudged, 'sample')} had nothing to be held against, or undecided rules", "dim"
        )


def _tree(tree: IntentTree, limit: int) -> Iterator[RenderableType]:
    mean = NOTHING if tree.mean is None else percent(tree.mean)
    yield Text("")
    yield cell(
        f"intents by {tree.metric} ({mean} overall, counted {share(tree.n_counted, tree.n_total)})", "bold"
    )
    grid = table("intent", "mean>", "95%>", "counted>", "to win>", "q>", "taken for", ">")
    for branch in tree.branches:
        if branch.top is not None:
            grid.add_row(*_tree_row(branch.top), style="bold")
        for leaf in branch.leaves[:limit]:
            grid.add_row(*_tree_row(leaf, indent=2), style="dim" if leaf.n_counted < FEW else "")
    yield grid
    yield Text(
        "first those worse than the rest by more than chance explains, then by the least to win", "dim"
    )
    yield cell("to win: in points of all samples, from the least to the most (95 %)", "dim")
    yield Text("q: that chance made it worse than the rest (one-sided, Benjamini–Hochberg)", "dim")


def _tree_row(row: TreeRow, *, indent: int = 0) -> tuple[Text | str, ...]:
    mean = NOTHING if row.mean is None else f"{row.mean:.0%}"
    span = (
        NOTHING
        if row.ci_low is None or row.ci_high is None
        else f"{100 * row.ci_low:.0f}–{100 * row.ci_high:.0f}"
    )
    return (
        label(row.label, indent=indent),
        mean,
        span,
        share(row.n_counted, row.n_total),
        _span(row.gain) if row.errors else "",
        _q(row.q) if row.errors else "",
        *_way(row),
    )


def _q(q: float | None) -> str:
    if q is None:
        return NOTHING
    return f"{q:.3f}" if q >= _TINY else f"<{_TINY}"


def _way(row: TreeRow) -> tuple[Text, Text]:
    """What an intent is mostly taken for, and which share of its errors that is; the directions of all stand below."""
    way = row.direction
    if way is None or row.direction_share is None or row.level != "intent_l2":
        return Text(""), Text("")
    return label(_given(way)), Text(f"{row.direction_share:.0%}", "dim")


def _given(way: ErrorDirection) -> str:
    return "no intent" if way.predicted is None else way.predicted


def _win(gain: Gain) -> str:
    if gain.low is None or gain.high is None:
        return f"+{points(gain.value)}"
    return f"+{points(gain.value)} ({points(gain.low)}–{points(gain.high)})"


def _span(gain: Gain) -> str:
    """The least and the most that there is to win; where nothing is drawn the gain itself."""
    if gain.low is None or gain.high is None:
        return points(gain.value)
    return f"{points(gain.low)}–{points(gain.high)}"


def _directions(found: Sequence[ErrorDirection], limit: int) -> Iterator[RenderableType]:
    if not found:
        return
    yield Text("\nerror directions, and what intent_top1 would win without them", "bold")
    for way in found[:limit]:
        line = cell(f"{way.gold} → {_given(way)}")
        line.append(f"  {share(way.n, way.gold_n)}, {way.share:.0%} of its errors", "dim")
        yield line.append(f"  {way.gain.told}", "green")
        yield from (Padding(cell(f"{each.key} “{each.query}”", "dim"), (0, 0, 0, 3)) for each in way.examples)
    yield from _rest(found, limit)


def _doubts(found: Sequence[Doubt], limit: int) -> Iterator[RenderableType]:
    if not found:
        return
    yield Text("\ncases that ask nearly the same", "bold")
    for doubt in found[:limit]:
        labels = (
            f"{doubt.first_label} against {doubt.second_label}"
            if doubt.contradictory
            else str(doubt.first_label)
        )
        yield cell(
            f"{doubt.first}, {doubt.second}: {doubt.similarity:.0%} alike, {labels}",
            "yellow" if doubt.contradictory else "",
        )
        yield Padding(cell(f"“{doubt.first_query}” / “{doubt.second_query}”", "dim"), (0, 0, 0, 3))
    yield from _rest(found, limit)


def _rest(found: Sequence[object], limit: int) -> Iterator[RenderableType]:
    if len(found) > limit:
        yield Text(f"and {len(found) - limit} more", "dim")
