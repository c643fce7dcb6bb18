"""The one aggregator: score columns in, means with their denominators out.

A score never looks at two records at once, and a tally is a sum. Sums are exact, so neither the order of the
records nor the batches in which they come change a bit of any mean.
"""

from __future__ import annotations

from evalkit.slices.kinds import Kinds
from evalkit.slices.means import PerSample, SlicedMeans, SliceMeans, scores_of, slice_mean
from evalkit.slices.scores import Scores
from evalkit.slices.tally import Tally, counted_rows, tally

__all__ = [
    "Kinds",
    "PerSample",
    "Scores",
    "SliceMeans",
    "SlicedMeans",
    "Tally",
    "counted_rows",
    "scores_of",
    "slice_mean",
    "tally",
]
