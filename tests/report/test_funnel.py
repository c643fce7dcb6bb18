"""The funnel and the causes: every failure is charged once, and all charges are the failures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord
from evalkit.engines.local import local
from evalkit.records import Records
from evalkit.report.digest import Run, digest
from evalkit.report.funnel import funnel
from evalkit.report.lots import total
from evalkit.report.reasons import GATES

DOCS = st.lists(st.sampled_from(["D1", "D2", "D3"]), max_size=3)
LABELS = st.sampled_from(["A", "B", "C", None])
CALLS = st.none() | st.lists(
    st.builds(
        lambda name, day: {"name": name, "arguments": {"day": day}},
        st.sampled_from(["book", "find"]),
        st.integers(1, 2),
    ),
    max_size=2,
)
RECORD = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["退货", "保修", "价格"]),
        "intent_l1": st.sampled_from(["X", "Y", None]),
        "intent_l2": LABELS,
        "intent_pred": LABELS,
        "requires_rag": st.sampled_from([True, False, None]),
        "reference_doc_ids": DOCS,
        "retrieved_doc_ids": st.none() | DOCS,
        "response": st.sampled_from(["好的", "", None, "未检索到与问题相关的文档内容"]),
        "answer_status": st.sampled_from(["ok", "ok", "rejected", "error", "skipped"]),
        "evidence_status": st.sampled_from(["ok", "ok", "error", "skipped"]),
        "required_slots": st.lists(
            st.sampled_from([{"name": "phone"}, {"name": "day", "value": "1"}]), max_size=2, unique_by=str
        ),
        "filled_slots": st.none()
        | st.dictionaries(st.sampled_from(["phone", "day"]), st.sampled_from(["1", "2"])),
        "required_steps": st.lists(st.sampled_from([{"name": "ask", "keywords": ["好"]}]), max_size=1),
        "expected_tools": CALLS,
        "tool_calls": CALLS,
        "repeat": st.integers(0, 1),
    }
)
RUNS = st.lists(RECORD, max_size=25)


def run(rows: list[dict[str, Any]]) -> Any:
    records = [
        EvalRecord.model_validate({"sample_id": f"c{n // 2}", **row, "repeat": n % 2})
        for n, row in enumerate(rows)
    ]
    table = Records.of(records)
    return digest(Run("any", table, local(table)))


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_the_rows_of_the_funnel_are_the_failures(rows: list[dict[str, Any]]) -> None:
    found = run(rows)
    stages = funnel(found.charges)
    assert [stage.gate for stage in stages.stages] == list(GATES)
    assert stages.failed == len(found.failures.failed)
    assert {stage.gate: stage.charged for stage in stages.stages} == found.failures.by_gate
    assert (stages.passed, stages.unjudged) == (found.failures.passed, found.failures.unjudged)
    assert stages.failed + stages.passed + stages.unjudged == len(rows)
    for before, after in zip(stages.stages, stages.stages[1:], strict=False):
        assert before.left == after.entered
    for stage in stages.stages:
        assert sum(stage.kinds.values()) == stage.charged


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_the_causes_are_the_failures(rows: list[dict[str, Any]]) -> None:
    """Each failed row is shared out whole, to at least one cause; the gains of all suggestions are the failures."""
    found = run(rows)
    charges, failed = found.charges, {failure.record.key: failure for failure in found.failures.failed}
    shared = sum(total(charge.inside, charge.outside) for charge in charges.found().values())
    assert shared == pytest.approx(len(failed))
    assert {key for charge in charges.found().values() for key in charge.keys} == {*failed}
    if charges.n_judged:
        won = sum(each.gain.value for each in found.suggestions)
        assert won == pytest.approx(len(failed) / charges.n_judged)
    for each in found.suggestions:
        assert 0 < each.n <= each.at_risk
        assert each.title
        assert each.advice
        assert {failed[key].gate for key in each.keys} == {each.gate}


def test_the_gain_of_a_gate_is_its_share_of_what_was_judged(
    make_digest, ten_questions: list[EvalRecord]
) -> None:
    """2 of 10 break the gate of intent: 20 points, as wide as Wilson's 2/10."""
    stages = {stage.gate: stage for stage in funnel(make_digest(ten_questions).charges).stages}
    assert stages["intent"].gain.told == "+20.0 points (5.7–51.0)"
    assert stages["intent"].kinds == {"wrong_intent": 2}
    assert stages["channel"].charged == 0
