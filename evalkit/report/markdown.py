"""The report as Markdown, for pull requests and terminals.

Text from outside stands in code spans and fenced blocks only, each fenced by more backticks than it holds,
so that no link, image, markup or table cell of its own survives.
"""

from __future__ import annotations

from collections.abc import Iterator

from evalkit.report.digest import Digest
from evalkit.report.failures import Failure
from evalkit.report.figures import Figure, milliseconds, share
from evalkit.report.fix_first import fix_first
from evalkit.report.fixing_markdown import directions_block, funnel_block, intents_block, suggestions_block
from evalkit.report.markdown_cells import fenced, rows_of, span, with_rest
from evalkit.report.notes import notes
from evalkit.report.summary import facts
from evalkit.report.verdict import Verdict
from evalkit.report.verdict_markdown import flips_blocks, verdict_blocks

__all__ = ["document", "fenced", "span"]

SHOWN_FAILURES = 20
_QUANTILES = ("p50", "p90", "p95", "p99", "max")


def document(digest: Digest, verdict: Verdict | None = None) -> bytes:
    """The report as one Markdown file in UTF-8, with the verdict and the flips where there is one.

    The same run and verdict give the same bytes.
    """
    found = fix_first(digest)
    blocks = [
        f"# Report of {span(digest.run.run_id)}",
        *(verdict_blocks(verdict) if verdict else ()),
        _facts(digest),
        *(f"> {note}" for note in map(_note, notes(digest))),
        "## Overall",
        _overall(digest),
        *(flips_blocks(verdict) if verdict else ()),
        "## What to fix first",
        suggestions_block(found),
        "## Intents, what to fix first",
        _averages(digest) + intents_block(found),
        "## Error directions",
        directions_block(found),
        "## Times and channels",
        _latency(digest),
        _channels(digest),
        "## Failures",
        *_failures(digest),
    ]
    return ("\n\n".join(blocks) + "\n").encode("utf-8", "backslashreplace")


def _note(note: str) -> str:
    return span(note, 500)


def _facts(digest: Digest) -> str:
    return rows_of(("Run", ""), [(span(name), span(text)) for name, text in facts(digest.run)], "")


def _overall(digest: Digest) -> str:
    head = ("Metric", "Mean:", "95 % interval:", "Counted:", "Worst case:")
    return rows_of(head, map(_figure, digest.overall), "No metric was measured.")


def _figure(figure: Figure) -> tuple[str, ...]:
    name = span(figure.metric) + (" ↓" if figure.lower_is_better else "")
    return name, figure.value, figure.interval, figure.counted, figure.bound


def _averages(digest: Digest) -> str:
    if digest.averages is None:
        return ""
    micro, (mean, n) = digest.averages
    return f"Micro mean {micro.value} over all samples, macro mean {micro.said(mean)} over {n} intents.\n\n"


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
    return rows_of(head, rows, "Nothing was timed.")


def _channels(digest: Digest) -> str:
    rows = (
        (f"{channel.name} channel", span(what), str(n))
        for channel in digest.channels
        for what, n in {**channel.statuses, **channel.errors, **_retried(channel.retried)}.items()
    )
    return rows_of(("Channel", "Ended as", "Samples:"), rows, "")


def _retried(n: int) -> dict[str, int]:
    return {"asked more than once": n} if n else {}


def _failures(digest: Digest) -> Iterator[str]:
    failures = digest.failures
    yield f"{len(failures.failed)} of {failures.total} samples failed, each charged to the first gate it broke."
    yield funnel_block(fix_first(digest).funnel)
    for failure in failures.failed[:SHOWN_FAILURES]:
        yield from _failure(failure)
    yield with_rest("", len(failures.failed) - SHOWN_FAILURES, "failures.jsonl")


def _failure(failure: Failure) -> Iterator[str]:
    record = failure.record
    yield f"### {span(record.key)}"
    yield "\n".join(f"- {reason.gate}: {span(reason.text, 500)}" for reason in failure.reasons)
    yield fenced("\n".join(record.user_turns))
    if record.response:
        yield "Answer:"
        yield fenced(record.response)
