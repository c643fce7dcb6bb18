"""Every metric family: the same numbers from a list, from Records and from the path of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit import EvalRecord, Records
from evalkit.contracts import MetricResult, SlotSpec, Timings, ToolCall
from evalkit.metrics import behavior, completion, intent, latency, retrieval, text, tools
from evalkit.reading import encode

RECORDS = [
    EvalRecord(
        sample_id=f"样本{place}",
        query="我电话是13800138000",
        response="好的",
        reference="好的，可以" if place % 2 else None,
        intent_l1="SUPPORT",
        intent_l2=f"S{place % 3}",
        intent_pred_all=[f"S{place % 2}"],
        requires_rag=place % 4 > 0,
        reference_doc_ids=["A", "B"],
        retrieved_doc_ids=["A", "C", "B"][: place % 4],
        required_slots=[SlotSpec(name="phone", value="13800138000")],
        expected_tools=[ToolCall(name="find", arguments={"n": place % 2})],
        tool_calls=[ToolCall(name="find", arguments={"n": 1})],
        ttft_ms=place * 10.0,
        evidence_timings=Timings(end_ms=5),
        answer_status="error" if place == 7 else "ok",
    )
    for place in range(12)
]


def as_data(results: MetricResult | list[MetricResult]) -> list[Any]:
    several = [results] if isinstance(results, MetricResult) else results
    return [
        (one.name, one.overall, dict(one.by_intent_l1), dict(one.by_intent_l2), dict(one.per_sample))
        for one in several
    ]


@pytest.mark.parametrize(
    "compute",
    [
        intent.compute,
        intent.family,
        retrieval.compute,
        behavior.compute,
        completion.compute,
        tools.compute,
        latency.compute,
        text.compute,
    ],
    ids=lambda compute: f"{compute.__module__}.{compute.__name__}",
)
def test_every_source_gives_the_same(compute: Callable[..., Any], tmp_path: Path) -> None:
    """List, Records, path as Path and as text; at least one result counts something."""
    path = tmp_path / "运行 1.jsonl"
    path.write_bytes(b"".join(map(encode, RECORDS)))
    wanted = as_data(compute(RECORDS))
    assert any(overall is not None for _, overall, *_ in wanted)
    for source in (Records(RECORDS), path, str(path)):
        assert as_data(compute(source)) == wanted


def test_a_run_of_somebody_else(tmp_path: Path) -> None:
    """A file with only ids and intents: intent is measured, the answer channel was never asked."""
    path = tmp_path / "run.jsonl"
    path.write_text('{"query_id": 7, "intent_l2": "S1", "intent_pred": "S1"}\n', encoding="utf-8")
    assert intent.compute(path).overall == 1.0
    rates = {result.name: result.overall for result in behavior.compute(path)}
    assert (rates["answer_error_rate"], rates["evidence_error_rate"]) == (None, 0.0)
