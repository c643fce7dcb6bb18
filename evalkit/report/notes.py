"""What a reader should know before believing a number: oddities that were counted, never repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evalkit.report.digest import Digest, Run
from evalkit.report.wording import drawn_together, times

__all__ = ["notes"]

SHOWN = 3
_BOUNDED = ("success_rate", "pass_rate", "rule_pass_rate")
"""Metrics whose bounds are told to whoever reads the summary only."""


def notes(digest: Digest) -> list[str]:
    """One sentence for each oddity of the run, most far-reaching first; none for a run without any."""
    return [*_state(digest), *_undecided(digest), *_file(digest.run), *_labels(digest)]


def _state(digest: Digest) -> Iterator[str]:
    manifest = digest.run.manifest
    if manifest is None:
        yield "There is no manifest beside this run: eval set and target are unknown, nothing can be compared."
    elif manifest.state != "complete":
        n = digest.charged.n_total
        yield f"The run is not complete: {n} of {manifest.planned} samples are there."
    if digest.cluster:
        yield f"For intervals, {drawn_together(digest.cluster)}."
    if manifest and manifest.client_saturated:
        p99 = manifest.client_delays.p99_ms if manifest.client_delays else None
        yield (
            f"The client was too busy to trust its times (1 of 100 beats was read {p99 or 0:.0f} ms late or later): "
            "lower --concurrency, or raise --workers."
        )
    if digest.charged.n_unjudged:
        yield (
            f"{times(digest.charged.n_unjudged, 'sample')} with nothing to be held against, or with undecided rules: "
            "neither passed nor failed."
        )


def _undecided(digest: Digest) -> Iterator[str]:
    """Between which numbers the rates of tasks are, where some are undecided."""
    found = {figure.metric: figure for figure in digest.overall}
    bounded = [
        f"{name} is {worst.value} to {best.value} ({worst.n_counted - found[name].n_counted} of {worst.n_counted} undecided)"
        for name in _BOUNDED
        if (worst := found.get(f"{name}_worst")) and (best := found.get(f"{name}_best"))
    ]
    if bounded:
        yield f"Some tasks are undecided; with all of them bad, or good: {', '.join(bounded)}."


def _file(run: Run) -> Iterator[str]:
    records, intake = run.records, run.intake
    if intake and intake.reject:
        yield f"Bad lines were rejected, rejects.jsonl has them: {intake.counts}."
    if records.superseded:
        yield f"{records.superseded} older records of the same samples were left out."
    if records.torn:
        yield f"{records.torn} torn line at the end of the file was left out."


def _labels(digest: Digest) -> Iterator[str]:
    if digest.near_misses:
        pairs = {f"{pair.gold} / {pair.predicted}": pair.n for pair in digest.near_misses}
        yield f"Labels that look the same but are not, counted as wrong: {_listed(pairs)}."
    if digest.unknown_parents:
        yield (
            "Predicted labels whose first level is unknown, counted as wrong there: "
            f"{_listed(digest.unknown_parents)}."
        )


def _listed(counts: Mapping[str, int]) -> str:
    shown = [f"{name} ({n})" for name, n in list(counts.items())[:SHOWN]]
    more = [f"{len(counts) - SHOWN} more"] if len(counts) > SHOWN else []
    return ", ".join(shown + more)
