"""Behaviour and channel rates: the row form, and what does not count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord
from evalkit.contracts import Attempt
from evalkit.errors import UsageError
from evalkit.metrics import behavior

FALLBACK = "未检索到与问题相关的文档内容"
STATUSES = ("ok", "ok", "incomplete", "cancelled", "rejected", "error", "skipped")

attempts = st.lists(st.builds(Attempt, status=st.sampled_from(("ok", "error"))), max_size=3)
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "SUPPORT")),
            "intent_l2": st.sampled_from((None, "S1", "S2")),
            "requires_rag": st.sampled_from((None, True, False)),
            "reference_doc_ids": st.lists(st.just("A"), max_size=1),
            "retrieved_doc_ids": st.none() | st.lists(st.sampled_from("AB"), max_size=2),
            "response": st.sampled_from(
                (None, "", FALLBACK, f"抱歉，{FALLBACK}。", FALLBACK[:-1], "可以退。")
            ),
            "answer_status": st.sampled_from(STATUSES),
            "evidence_status": st.sampled_from(("ok", "ok", "error", "skipped")),
            "answer_attempts": attempts,
            "evidence_attempts": attempts,
        }
    ),
    max_size=10,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def refusal(record: EvalRecord) -> float | None:
    if not record.needs_retrieval or record.evidence_status != "ok" or record.retrieved_doc_ids is None:
        return None
    return float(not record.retrieved_doc_ids)


def over(record: EvalRecord) -> float | None:
    if record.needs_retrieval is not False or record.evidence_status != "ok":
        return None
    return None if record.retrieved_doc_ids is None else float(bool(record.retrieved_doc_ids))


def fallback(record: EvalRecord) -> float | None:
    if not record.needs_retrieval or record.answer_status != "ok" or record.response is None:
        return None
    return float(FALLBACK in record.response)


def channel(name: str, *, bad: str | None = None) -> Callable[[EvalRecord], float | None]:
    def row(record: EvalRecord) -> float | None:
        status = getattr(record, f"{name}_status")
        return None if status == "skipped" else float(status == bad if bad else status != "ok")

    return row


def retry(record: EvalRecord) -> float | None:
    most = max(len(record.answer_attempts), len(record.evidence_attempts))
    return float(most > 1) if most else None


ROWS = {
    "refusal_when_required": refusal,
    "over_retrieval": over,
    "fallback_when_required": fallback,
    "answer_error_rate": channel("answer"),
    "evidence_error_rate": channel("evidence"),
    "rejected_rate": channel("answer", bad="rejected"),
    "retry_rate": retry,
}


@given(records=runs)
def test_columns_equal_rows(agree: Callable[..., None], records: list[EvalRecord]) -> None:
    """Whatever the run, every rate is what its row form says."""
    agree(behavior.compute(records), records, ROWS)


def rates(**fields: Any) -> dict[str, float | None]:
    """The rates of one record."""
    results = behavior.compute([EvalRecord(sample_id="1", **fields)])
    return {result.name: result.overall for result in results}


def test_a_failed_channel_is_an_error_and_no_behaviour() -> None:
    """A failed evidence call is no refusal, a failed answer no fallback; both are in the error rates."""
    found = rates(
        requires_rag=True,
        retrieved_doc_ids=[],
        response=FALLBACK,
        answer_status="error",
        evidence_status="error",
    )
    assert found["refusal_when_required"] is None
    assert found["fallback_when_required"] is None
    assert found["answer_error_rate"] == found["evidence_error_rate"] == 1.0


def test_a_channel_that_was_never_asked_did_not_fail() -> None:
    found = rates(answer_status="skipped", evidence_status="skipped")
    assert found["answer_error_rate"] is None
    assert found["evidence_error_rate"] is None
    assert found["rejected_rate"] is None


def test_a_rejection_is_an_error_of_its_own_kind() -> None:
    found = rates(answer_status="rejected")
    assert (found["rejected_rate"], found["answer_error_rate"]) == (1.0, 1.0)


def test_gold_documents_say_that_retrieval_is_needed() -> None:
    """Where nobody says so but there is gold, an empty retrieval is a refusal; without gold nobody knows."""
    assert rates(reference_doc_ids=["A"], retrieved_doc_ids=[])["refusal_when_required"] == 1.0
    assert rates(retrieved_doc_ids=[])["refusal_when_required"] is None
    assert rates(retrieved_doc_ids=["A"])["over_retrieval"] is None
    assert rates(requires_rag=False, retrieved_doc_ids=["A"])["over_retrieval"] == 1.0


def test_one_of_one_retried() -> None:
    """A failure and then an answer: one of the one sample with recorded attempts was retried."""
    tries = [Attempt(status="error"), Attempt(status="ok")]
    assert rates(answer_attempts=tries)["retry_rate"] == 1.0
    assert rates(answer_attempts=tries[1:])["retry_rate"] == 0.0
    assert rates()["retry_rate"] is None


def test_fallback_texts_are_a_parameter() -> None:
    record = EvalRecord(sample_id="1", requires_rag=True, response="抱歉，我不清楚。")
    own = behavior.compute([record], fallback_texts=("我不清楚",))
    none = behavior.compute([record], fallback_texts=())
    assert [result.overall for result in (own[2], none[2])] == [1.0, None]
    with pytest.raises(UsageError, match="wanted texts that say something"):
        behavior.compute([record], fallback_texts=("",))


def test_marks_of_the_results() -> None:
    """All are rates in percent, all better low, all null over nothing."""
    results = behavior.compute([])
    marks = {(result.is_rate, result.is_pct, result.lower_is_better, result.overall) for result in results}
    assert marks == {(True, True, True, None)}
