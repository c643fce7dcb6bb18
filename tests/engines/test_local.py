"""The local engine: all families at once, in order, no name twice."""

from __future__ import annotations

import pytest

from evalkit import EvalRecord
from evalkit.engines.local import DEFAULT, local
from evalkit.errors import UnknownName, UsageError
from evalkit.registry import _BUILT_IN, Spec

RECORDS = [
    EvalRecord(
        sample_id="1", intent_l2="S1", intent_pred="S1", reference_doc_ids=["A"], retrieved_doc_ids=["A"]
    )
]


def test_default_is_every_built_in_family() -> None:
    """Each registered metric once, with its own defaults, and no name twice among the results."""
    assert [spec.type for spec in DEFAULT] == list(_BUILT_IN["metric"])
    assert all(spec.params == {} for spec in DEFAULT)
    results = [result.name for result in local(RECORDS)]
    assert len(results) == len(set(results))
    assert {"intent_top1", "recall@5", "over_retrieval", "completion", "tool_f1", "ttft_ms"} <= set(results)


def test_parameters_reach_the_metric() -> None:
    results = local(RECORDS, metrics=[Spec("retrieval", {"cutoffs": [2]}), Spec("intent", {"ks": []})])
    assert [result.name for result in results][:2] == ["hit@2", "recall@2"]
    assert [result.name for result in results][-3:] == ["intent_top1", "intent_l1_top1", "intent_abstained"]


def test_no_metric_no_result() -> None:
    assert local(RECORDS, metrics=[]) == []


@pytest.mark.parametrize(
    ("metrics", "error", "words"),
    [
        pytest.param([Spec("intent"), Spec("intent")], UsageError, "intent_top1", id="family twice"),
        pytest.param(
            [Spec("intent", {"ks": [1]})], UsageError, "two results named intent_top1", id="top1 twice"
        ),
        pytest.param([Spec("intents")], UnknownName, "Did you mean 'intent'", id="unknown"),
        pytest.param([Spec("retrieval", {"k": 3})], UsageError, "unknown k", id="parameters"),
    ],
)
def test_what_cannot_be_meant_is_refused(metrics: list[Spec], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        local(RECORDS, metrics=metrics)
