"""Whether all samples of a run are there: what every verdict on it says first."""

from __future__ import annotations

from evalkit.report.snapshot import Snapshot
from evalkit.report.wording import times

__all__ = ["shortfall"]


def shortfall(snap: Snapshot) -> str:
    """Why a run is not known to be whole, in words; empty where all of its planned samples are there."""
    if snap.complete:
        return ""
    if snap.eval_set_sha256:
        n = len(snap.samples)
        return (
            f"{n:,} of {times(snap.planned, 'planned sample')} are there, or the run did not end; resume it"
        )
    return "there is no manifest: nobody knows whether all samples are there"
