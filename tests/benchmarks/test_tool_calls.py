"""The benchmark of tool metrics times ways that come to the same scores."""

from __future__ import annotations

from pathlib import Path


def test_all_legs_give_the_same(benchmark, tmp_path: Path) -> None:
    module = benchmark("tool_calls")
    rows = list(module.records(60))
    assert {len(row.expected_tools or ()) for row in rows} == {1, 2, 3}
    first, *others = (
        [(result.name, result.overall, dict(result.by_intent_l2)) for result in leg.run()]
        for leg in module.legs(rows, tmp_path / "run.jsonl")
    )
    assert others == [first] * 3
    assert 0 < dict(cells[:2] for cells in first)["argument_accuracy"] < 1
