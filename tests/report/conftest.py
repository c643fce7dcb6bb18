"""Runs made of a few lists of scores, as every test of comparisons and gates needs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import pytest

from evalkit.report.snapshot import TEXTS, MetricFacts, Snapshot

Make = Callable[..., Snapshot]
SHA = "ab" * 32


def facts(name: str, *, sha: str = SHA, version: int = 1, **flags: bool) -> MetricFacts:
    """The facts of a rate shown in per cent, with other flags where they are given."""
    known = {"is_rate": True, "is_pct": True, "lower_is_better": False, **flags}
    return MetricFacts(f"{name}|v{version}|set:{sha[:12]}", **known)


@pytest.fixture
def run() -> Make:
    """A snapshot of one row a score; null is not counted."""

    def make(
        scores: Mapping[str, Sequence[float | None]] | Sequence[float | None],
        *,
        run_id: str = "run",
        slices: Sequence[str | None] | None = None,
        keys: Sequence[str] | None = None,
        cases: Sequence[str] | None = None,
        sha: str = SHA,
        complete: bool = True,
        metrics: Mapping[str, MetricFacts] | None = None,
        texts: Mapping[str, Sequence[str | None]] | None = None,
    ) -> Snapshot:
        columns = scores if isinstance(scores, Mapping) else {"intent_top1": scores}
        n = len(next(iter(columns.values())))
        keys = list(keys) if keys is not None else [f"q{i:05d}" for i in range(n)]
        cases = list(cases) if cases is not None else [key.split("#")[0] for key in keys]
        said = dict.fromkeys(TEXTS, ["ok"] * n) | {
            "sample_id": cases,
            "intent_l1": [None] * n,
            "intent_l2": list(slices) if slices is not None else [None] * n,
            "query": [f"问题 {case}" for case in cases],
            "case_sha": [f"sha of {case}" for case in cases],
            "gold": ["intent_l2"] * n,
            **(texts or {}),
        }
        frame = pd.DataFrame({name: pd.Series(list(said[name]), dtype=object) for name in TEXTS})
        for name, values in columns.items():
            frame[name] = np.array([math.nan if v is None else v for v in values], dtype=np.float64)
        frame.index = pd.Index(keys, dtype=object, name="key")
        known = {name: (metrics or {}).get(name, facts(name, sha=sha)) for name in columns}
        return Snapshot(run_id, complete, sha, n, "shop", known, frame.sort_index())

    return make
