"""What to fix first as Markdown: suggestions, intents, error directions, funnel; the numbers of the page.

Text from outside stands in code spans only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evalkit.report.directions import ErrorDirection, Example
from evalkit.report.figures import NOTHING, percent, share
from evalkit.report.fix_first import FixFirst
from evalkit.report.funnel import Funnel, Stage
from evalkit.report.gains import Gain, points
from evalkit.report.intent_tree import TreeRow
from evalkit.report.markdown_cells import rows_of, span, with_rest
from evalkit.report.suggestions import Suggestion
from evalkit.report.wording import probability

__all__ = ["directions_block", "funnel_block", "intents_block", "suggestions_block"]

SHOWN, SUGGESTED, KEYS, QUERY = 20, 10, 8, 80


def suggestions_block(found: FixFirst) -> str:
    """The suggestions as a numbered list, each with its gain, advice and samples."""
    if not found.suggestions:
        return "No sample failed."
    lines = [
        line
        for number, each in enumerate(found.suggestions[:SUGGESTED], 1)
        for line in _suggestion(number, each)
    ]
    rest = len(found.suggestions) - SUGGESTED
    more = f"\n\n{rest} more: `evalkit fix`." if rest > 0 else ""
    return "\n".join(lines) + more


def _suggestion(number: int, each: Suggestion) -> Iterator[str]:
    more = f" and {each.n - KEYS} more" if each.n > KEYS else ""
    again = f"; {each.again} of them break a later gate too" if each.again else ""
    yield f"{number}. {span(each.title, 400)}: **{each.gain.told}**"
    yield f"   - {each.advice}"
    yield f"   - samples {_listed(each.keys[:KEYS])}{more}{again}"
    yield f"   - such as {_queries(each.examples)}"


def _listed(texts: Sequence[str]) -> str:
    return ", ".join(map(span, texts))


def _queries(examples: Sequence[Example]) -> str:
    return ", ".join(span(example.query, QUERY) for example in examples if example.query)


def intents_block(found: FixFirst) -> str:
    """The second-level intents that lose something, what to fix first."""
    tree = found.tree
    if tree is None:
        return "No intent was measured."
    rows = [row for row in tree.leaves if row.errors]
    head = (
        "Intent",
        f"{span(tree.metric)}:",
        "95 % interval:",
        "Counted:",
        "Mostly taken for",
        "To win:",
        "q:",
    )
    table = rows_of(head, map(_intent, rows[:SHOWN]), "No intent loses anything.")
    return with_rest(table, len(rows) - SHOWN, "slices.parquet")


def _intent(row: TreeRow) -> tuple[str, ...]:
    mean = NOTHING if row.mean is None else percent(row.mean)
    counted = share(row.n_counted, row.n_total)
    return span(row.label), mean, _interval(row), counted, _way(row), _win(row.gain), probability(row.q)


def _interval(row: TreeRow) -> str:
    if row.ci_low is None or row.ci_high is None:
        return NOTHING
    return f"{points(row.ci_low)}–{percent(row.ci_high)}"


def _way(row: TreeRow) -> str:
    way = row.direction
    if way is None or row.direction_share is None:
        return ""
    return f"{_label(way)} ({way.n}, {percent(row.direction_share)} of its errors)"


def _label(way: ErrorDirection) -> str:
    return "*no intent*" if way.predicted is None else span(way.predicted)


def _win(gain: Gain) -> str:
    return gain.told.replace(" points", "")


def directions_block(found: FixFirst) -> str:
    """The error directions, most to win first, each with questions."""
    rows = (
        (
            span(way.gold),
            _label(way),
            share(way.n, way.gold_n),
            percent(way.share),
            _win(way.gain),
            _queries(way.examples),
        )
        for way in found.directions[:SHOWN]
    )
    head = ("Right intent", "Taken for", "Samples:", "Share of errors:", "To win:", "Such as")
    return with_rest(rows_of(head, rows, "No error."), len(found.directions) - SHOWN, "confusions.parquet")


def funnel_block(found: Funnel) -> str:
    """Where the samples fall out, gate by gate, and how many pass."""
    rows = [_stage(stage) for stage in found.stages]
    return rows_of(
        ("First gate broken", "Samples:", "To win:"), [*rows, ("passed", str(found.passed), "")], ""
    )


def _stage(stage: Stage) -> tuple[str, ...]:
    return stage.gate, str(stage.charged), _win(stage.gain) if stage.charged else ""
