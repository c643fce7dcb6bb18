"""The report as Markdown, for pull requests and terminals.

Text from outside stands in code spans and fenced blocks only, each fenced by more backticks than it holds,
so that no link, image, markup or table cell of its own survives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from evalkit.report.digest import Digest
from evalkit.report.failures import Failure
from evalkit.report.figures import Figure, milliseconds, percent, share
from evalkit.report.notes import notes
from evalkit.report.summary import facts
from evalkit.report.text import capped, one_line, visible
from evalkit.report.worst import Direction, WorstRow

__all__ = ["document", "fenced", "span"]

SHOWN_ROWS, SHOWN_FAILURES, CELL = 20, 20, 120
PIPE = "\\|"
_QUANTILES = ("p50", "p90", "p95", "p99", "max")
_TICKS = re.compile("`+")


def document(digest: Digest) -> bytes:
    """The report as one Markdown file in UTF-8; the same run gives the same bytes."""
    blocks = [
        f"# Report of {span(digest.run.run_id)}",
        _facts(digest),
        *(f"> {note}" for note in map(_note, notes(digest))),
        "## Overall",
        _overall(digest),
        "## Intents, worst first",
        _intents(digest),
        "## Error directions",
        _confusions(digest),
        "## Times and channels",
        _latency(digest),
        _channels(digest),
        "## Failures",
        *_failures(digest),
    ]
    return ("\n\n".join(blocks) + "\n").encode("utf-8", "backslashreplace")


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


def _note(note: str) -> str:
    return span(note, 500)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], nothing: str) -> str:
    """A table whose cells are safe already; the columns after the first are numbers where `:` says so."""
    lines = [f"| {' | '.join(cell.replace('|', PIPE) for cell in row)} |" for row in rows]
    if not lines:
        return nothing
    names = [name.removesuffix(":") for name in head]
    marks = ["---:" if name.endswith(":") else "---" for name in head]
    return "\n".join([f"| {' | '.join(names)} |", f"| {' | '.join(marks)} |", *lines])


def _facts(digest: Digest) -> str:
    return _table(("Run", ""), [(span(name), span(text)) for name, text in facts(digest.run)], "")


def _overall(digest: Digest) -> str:
    head = ("Metric", "Mean:", "95 % interval:", "Counted:", "Worst case:")
    return _table(head, map(_figure, digest.overall), "No metric was measured.")


def _figure(figure: Figure) -> tuple[str, ...]:
    name = span(figure.metric) + (" ↓" if figure.lower_is_better else "")
    return name, figure.value, figure.interval, figure.counted, figure.bound


def _intents(digest: Digest) -> str:
    rows = digest.worst_intents
    head = (
        "Intent",
        f"{span(digest.main or '')}:",
        "95 % interval:",
        "Counted:",
        "Mostly taken for",
        "To win:",
    )
    table = _table(head, map(_intent, rows[:SHOWN_ROWS]), "No intent loses anything.")
    return _averages(digest) + _with_rest(table, len(rows) - SHOWN_ROWS, "slices.parquet")


def _averages(digest: Digest) -> str:
    if digest.averages is None:
        return ""
    micro, (mean, n) = digest.averages
    return f"Micro mean {micro.value} over all samples, macro mean {micro.said(mean)} over {n} intents.\n\n"


def _intent(row: WorstRow) -> tuple[str, ...]:
    figure = row.figure
    win = f"+{percent(row.recoverable)}" if row.recoverable else ""
    return span(figure.slice), figure.value, figure.interval, figure.counted, _way(row.direction), win


def _way(way: Direction | None) -> str:
    return f"{_label(way.predicted)} ({way.portion} errors)" if way else ""


def _label(predicted: str | None) -> str:
    return span(predicted) if predicted else "*no intent*"


def _confusions(digest: Digest) -> str:
    found = digest.tables.confusions.to_pylist()
    rows = (
        (span(row["gold"]), _label(row["predicted"]), share(row["n"], row["gold_n"]), percent(row["share"]))
        for row in found[:SHOWN_ROWS]
    )
    table = _table(("Right intent", "Taken for", "Samples:", "Share of errors:"), rows, "No error.")
    return _with_rest(table, len(found) - SHOWN_ROWS, "confusions.parquet")


def _latency(digest: Digest) -> str:
    rows = (
        (
            span(row["name"]),
            *(milliseconds(row[name], cut=row["censored_at"]) for name in _QUANTILES),
            share(row["n_counted"], row["n_total"]),
            str(row["n_censored"]),
        )
        for row in digest.tables.latency.to_pylist()
    )
    head = ("Time", "Median:", "p90:", "p95:", "p99:", "Largest:", "Counted:", "Cut off:")
    return _table(head, rows, "Nothing was timed.")


def _channels(digest: Digest) -> str:
    rows = (
        (f"{channel.name} channel", span(what), str(n))
        for channel in digest.channels
        for what, n in {**channel.statuses, **channel.errors, **_retried(channel.retried)}.items()
    )
    return _table(("Channel", "Ended as", "Samples:"), rows, "")


def _retried(n: int) -> dict[str, int]:
    return {"asked more than once": n} if n else {}


def _failures(digest: Digest) -> Iterator[str]:
    failures = digest.failures
    yield f"{len(failures.failed)} of {failures.total} samples failed, each charged to the first gate it broke."
    rows = [(gate, str(n)) for gate, n in failures.by_gate.items()]
    yield _table(("First gate broken", "Samples:"), [*rows, ("passed", str(failures.passed))], "")
    for failure in failures.failed[:SHOWN_FAILURES]:
        yield from _failure(failure)
    yield _with_rest("", len(failures.failed) - SHOWN_FAILURES, "failures.jsonl")


def _failure(failure: Failure) -> Iterator[str]:
    record = failure.record
    yield f"### {span(record.key)}"
    yield "\n".join(f"- {reason.gate}: {span(reason.text, 500)}" for reason in failure.reasons)
    yield fenced("\n".join(record.user_turns))
    if record.response:
        yield "Answer:"
        yield fenced(record.response)


def _with_rest(block: str, rest: int, file: str) -> str:
    return f"{block}\n\n{rest} more are in {file}." if rest > 0 else block
