"""The RAGAS measures against the package of that name, on the same verdicts; only where it is installed."""

from __future__ import annotations

import pytest

from evalkit.judges.measures.context_precision import mean_precision

pytest.importorskip("ragas", reason="the package ragas is not installed", exc_type=ImportError)


@pytest.mark.parametrize("useful", [[1, 0, 1], [0, 1], [0, 0], [1, 1, 1], [0, 1, 0, 1, 1]])
def test_context_precision_agrees_with_ragas(useful: list[int]) -> None:
    from ragas.metrics import LLMContextPrecisionWithReference
    from ragas.metrics._context_precision import Verification

    verdicts = [Verification(reason="", verdict=flag) for flag in useful]
    theirs = LLMContextPrecisionWithReference()._calculate_average_precision(verdicts)
    assert mean_precision([bool(flag) for flag in useful]) == pytest.approx(theirs, abs=1e-9)
