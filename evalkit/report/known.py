"""Failures that are known: left out of what a gate counts until their day, and told of all the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd

from evalkit.report.policy import KnownFailure
from evalkit.report.snapshot import Snapshot
from evalkit.report.wording import times

__all__ = ["standing", "told", "without"]


def standing(known: Sequence[KnownFailure], today: date) -> tuple[KnownFailure, ...]:
    """Those whose day has not passed: each counts as known through the day that it names."""
    return tuple(failure for failure in known if today <= failure.until)


def without(snap: Snapshot, known: Sequence[KnownFailure]) -> Snapshot:
    """The snapshot in which the known samples do not count, in the metric that is named or in all."""
    if not known:
        return snap
    samples = snap.samples.copy()
    for failure in known:
        columns = [name for name in snap.metrics if failure.metric in (None, name)]
        samples.loc[_rows(samples, failure), columns] = np.nan
    return replace(snap, samples=samples)


def told(run: Snapshot, known: Sequence[KnownFailure], today: date) -> Iterator[str]:
    """A sentence for each known failure that has expired, passes again or is in no sample, and one for the rest."""
    left = standing(known, today)
    for failure in known:
        name = failure.sample_id if failure.metric is None else f"{failure.sample_id} ({failure.metric})"
        if failure not in left:
            yield f"known failure {name} expired on {failure.until}, and counts again: {failure.reason}"
        elif not _rows(run.samples, failure).any():
            yield f"known failure {name}: the run has no such sample; take it off the list"
        elif _passes(run, failure):
            yield f"known failure {name} passes now; take it off the list"
    if left:
        yield f"{times(len(left), 'known failure')} not counted until the day named for each"


def _rows(samples: pd.DataFrame, failure: KnownFailure) -> pd.Series[bool]:
    return samples["sample_id"] == failure.sample_id


def _passes(run: Snapshot, failure: KnownFailure) -> bool:
    """Whether every 0/1 score that the failure names is right now."""
    rates = {name: facts for name, facts in run.metrics.items() if facts.is_rate}
    scores = [
        run.samples.loc[_rows(run.samples, failure), name].dropna() == (0 if facts.lower_is_better else 1)
        for name, facts in rates.items()
        if failure.metric in (None, name)
    ]
    counted = [right for right in scores if len(right)]
    return bool(counted) and all(right.all() for right in counted)
