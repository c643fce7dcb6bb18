"""The benchmark of slot finding on a few dialogs of each data set: floors that a broken finder would miss."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def bench(shared: Path, benchmark) -> ModuleType:
    module = benchmark("slot_finding")
    module.SHARED = shared / "data"
    return module


@pytest.mark.parametrize(
    ("name", "limit", "known", "openly"),
    [("crosswoz", 25, 0.95, 0.83), ("sgd", 25, 0.94, 0.9), ("abcd", 3, 1.0, 0.9)],
)
def test_floor(bench: ModuleType, name: str, limit: int, known: float, openly: float) -> None:
    """F1 with the value known and without; completion is within a tenth of gold over whole dialogs."""
    result = bench.measure(bench.READERS[name](limit))
    assert result.total("known").f1 >= known
    assert result.total("open").f1 >= openly
    errors = result.errors["whole"]
    assert errors
    assert sum(map(abs, errors)) / len(errors) < 0.1
