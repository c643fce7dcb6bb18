"""How sure a number is, and whether two numbers differ. Pure functions of counts and arrays.

Nothing in, null out: an interval of nothing is NaN, a test of nothing decides nothing. Whatever is drawn
is drawn from a generator with a stated seed, so the same data give the same bytes on any machine.
"""

from evalkit.stats.differences import FLIP_DRAWS, mcnemar, sign_flip
from evalkit.stats.drawing import SEED as SEED
from evalkit.stats.families import benjamini_hochberg, holm
from evalkit.stats.intervals import (
    CONFIDENCE,
    DRAWN_UP_TO,
    DRAWS,
    Interval,
    Urn,
    bootstrap,
    interval_of,
    mean_interval,
    urn_of,
    urn_of_kinds,
    wilson,
)
from evalkit.stats.ranked import Ranked
from evalkit.stats.repeats import nearest_place, nearest_rank, pass_at_k, pass_hat_k
from evalkit.stats.student import t_quantile

__all__ = [
    "CONFIDENCE",
    "DRAWN_UP_TO",
    "DRAWS",
    "FLIP_DRAWS",
    "Interval",
    "Ranked",
    "Urn",
    "benjamini_hochberg",
    "bootstrap",
    "holm",
    "interval_of",
    "mcnemar",
    "mean_interval",
    "nearest_place",
    "nearest_rank",
    "pass_at_k",
    "pass_hat_k",
    "sign_flip",
    "t_quantile",
    "urn_of",
    "urn_of_kinds",
    "wilson",
]
