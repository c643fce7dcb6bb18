"""Intent scores: the worked example, the row form, real services."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import EvalRecord, Records
from evalkit.errors import UsageError
from evalkit.metrics import intent

TEN = Path(__file__).parents[1] / "golden" / "intent_ten_questions.jsonl"
"""A golden table that is also the file of a run."""

LABELS = (None, "", "S14_退换货", "S14_退换货\u200b", "Ｓ14_退换货", "S3_对比", "S1_选购", "CHAT")
PARENTS = {"S14_退换货": "SUPPORT", "S3_对比": "SUPPORT", "CHAT": "CHAT"}

labels = st.sampled_from(LABELS)
runs = st.lists(
    st.fixed_dictionaries(
        {
            "intent_l1": st.sampled_from((None, "", "SUPPORT", "CHAT")),
            "intent_l2": labels,
            "intent_pred": labels,
            "intent_pred_all": st.none() | st.lists(labels, max_size=5),
            "evidence_status": st.sampled_from(("ok", "ok", "ok", "error", "skipped")),
            "requires_rag": st.sampled_from((None, True, False)),
        }
    ),
    max_size=12,
).map(lambda rows: [EvalRecord(sample_id=str(place), **row) for place, row in enumerate(rows)])


def labelled(record: EvalRecord) -> bool:
    return bool(record.intent_l2) and record.evidence_status == "ok"


def top1_row(record: EvalRecord) -> float | None:
    return float(record.intent_pred == record.intent_l2) if labelled(record) else None


def topk_row(k: int) -> Callable[[EvalRecord], float | None]:
    def row(record: EvalRecord) -> float | None:
        if not labelled(record):
            return None
        guesses = [guess for guess in record.intent_pred_all if guess] or [record.intent_pred]
        return float(record.intent_l2 in list(dict.fromkeys(guesses))[:k])

    return row


def l1_row(parents: dict[str, str]) -> Callable[[EvalRecord], float | None]:
    def row(record: EvalRecord) -> float | None:
        if not record.intent_l1 or record.evidence_status != "ok":
            return None
        return float(bool(record.intent_pred) and parents.get(record.intent_pred or "") == record.intent_l1)

    return row


def abstained_row(record: EvalRecord) -> float | None:
    return float(not record.intent_pred) if labelled(record) else None


def own_parents(records: Sequence[EvalRecord]) -> dict[str, str]:
    pairs = {
        (record.intent_l2, record.intent_l1) for record in records if record.intent_l1 and record.intent_l2
    }
    return {
        label: parent
        for label, parent in pairs
        if label and parent and sum(other == label for other, _ in pairs) == 1
    }


@given(records=runs, given_parents=st.none() | st.just(PARENTS))
def test_columns_equal_rows(
    agree: Callable[..., None], records: list[EvalRecord], given_parents: dict[str, str] | None
) -> None:
    """Whatever the run, every intent metric is what its row form says."""
    rows = {
        "intent_top1": top1_row,
        "intent_top2": topk_row(2),
        "intent_top4": topk_row(4),
        "intent_l1_top1": l1_row(own_parents(records) if given_parents is None else given_parents),
        "intent_abstained": abstained_row,
    }
    agree(intent.family(records, ks=(2, 4), parents=given_parents), records, rows)
    (first,) = intent.topk(records, ks=(1,))
    agree([first], records, {"intent_top1": topk_row(1)})


@given(records=runs, random=st.randoms(use_true_random=False))
def test_order_changes_no_bit(records: list[EvalRecord], random: Any) -> None:
    """The results of a shuffled run are equal, overall and in each slice."""
    shuffled = random.sample(records, len(records))
    for one, other in zip(intent.family(records), intent.family(shuffled), strict=True):
        assert one.overall == other.overall
        assert dict(one.by_intent_l2) == dict(other.by_intent_l2)
        assert dict(one.per_sample) == dict(other.per_sample)


def test_ten_questions() -> None:
    """The worked example: 8 of 10 right, S3 1 of 2, S14 2 of 3, from the path of a run."""
    result = intent.compute(TEN)
    assert result.overall == 0.8
    assert (result.overall.n_counted, result.overall.n_total) == (10, 10)
    shares = {
        label: (mean, mean.n_counted) for label, mean in result.by_intent_l2.items() if mean and mean < 1
    }
    assert shares == {"S14_退换货咨询": (2 / 3, 3), "S3_对比选购": (0.5, 2)}


def test_ten_questions_as_they_are_printed() -> None:
    """With gold and prediction of question 5 the other way round it is still 8 of 10."""
    swapped = [
        record.model_copy(update={"intent_l2": record.intent_pred, "intent_pred": record.intent_l2})
        if record.sample_id == "5"
        else record
        for record in Records.of(str(TEN))
    ]
    assert intent.compute(swapped).overall == 0.8


def record(**fields: Any) -> EvalRecord:
    return EvalRecord(**{"sample_id": "1", "intent_l1": "SUPPORT", "intent_l2": "S14", **fields})


@pytest.mark.parametrize(
    ("fields", "score"),
    [
        pytest.param({"intent_pred": "S14"}, 1.0, id="equal"),
        pytest.param({"intent_pred": "s14"}, 0.0, id="case counts"),
        pytest.param({"intent_pred": None}, 0.0, id="abstained is wrong"),
        pytest.param({"intent_pred": ""}, 0.0, id="empty is abstained"),
        pytest.param({"intent_pred_all": [None, "", "S14", "S2"]}, 1.0, id="first non-empty"),
        pytest.param({"intent_pred": "S14", "requires_rag": False}, 1.0, id="no retrieval needed"),
        pytest.param({"intent_pred": "S14", "evidence_status": "error"}, None, id="evidence failed"),
        pytest.param({"intent_pred": "S14", "evidence_status": "skipped"}, None, id="evidence not asked"),
        pytest.param({"intent_pred": "S14", "answer_status": "error"}, 1.0, id="answer failed"),
        pytest.param({"intent_l2": None, "intent_pred": "S14"}, None, id="no label"),
        pytest.param({"intent_l2": "", "intent_pred": ""}, None, id="empty label"),
    ],
)
def test_top1_of_one_record(fields: dict[str, Any], score: float | None) -> None:
    """What one record scores, and where it does not count."""
    result = intent.compute([record(**fields)])
    assert result.per_sample["1"] == score
    assert result.overall == score


def test_topk_counts_distinct_predictions() -> None:
    """Repeats and empty predictions take no place among the first k."""
    guesses = ["S2", "S2", None, "", "S2", "S3", "S14"]
    results = intent.topk([record(intent_pred_all=guesses)], ks=(2, 3))
    assert [result.overall for result in results] == [0.0, 1.0]


@pytest.mark.parametrize("ks", [(0,), (3, -1)])
def test_topk_refuses_a_k_below_one(ks: tuple[int, ...]) -> None:
    with pytest.raises(UsageError, match="wanted whole numbers from 1"):
        intent.topk([record()], ks=ks)


def test_unknown_parent_is_wrong_and_reported() -> None:
    """A label outside the taxonomy, or under two parents, has no parent; each such prediction is told."""
    records = [
        record(sample_id="a", intent_pred="S99_没有此类"),
        record(sample_id="b", intent_pred="S14"),
        record(sample_id="c", intent_l1="CHAT", intent_l2="S14", intent_pred="S14"),
        record(sample_id="d", intent_pred="S99_没有此类", evidence_status="error"),
        record(sample_id="e", intent_pred=None),
    ]
    assert dict(intent.l1_top1(records).per_sample) == {"a": 0, "b": 0, "c": 0, "d": None, "e": 0}
    assert intent.unknown_parents(records) == {"S14": 2, "S99_没有此类": 1}
    given_parents = {"S14": "SUPPORT"}
    assert intent.l1_top1(records, parents=given_parents).per_sample["b"] == 1
    assert intent.unknown_parents(records, parents=given_parents) == {"S99_没有此类": 1}


def test_a_wrong_leaf_of_the_right_branch_is_right_above() -> None:
    records = [
        record(sample_id="a", intent_pred="S15"),
        record(sample_id="b", intent_l2="S15", intent_pred="S15"),
    ]
    assert intent.compute(records).overall == 0.5
    assert intent.l1_top1(records).overall == 1.0


def test_nothing_is_not_zero() -> None:
    """Without records, or without labels, every intent metric is null."""
    for records in ([], [record(intent_l1=None, intent_l2=None)]):
        assert [result.overall for result in intent.family(records)] == [None] * 4


def test_marks_of_the_results() -> None:
    """All are binomial rates in percent; only abstaining is better low."""
    results = intent.family([record()])
    assert {(result.is_rate, result.is_pct, result.version) for result in results} == {(True, True, 1)}
    assert [result.name for result in results if result.lower_is_better] == ["intent_abstained"]


HWU64 = {
    "APIAI": (37, lambda answer: answer["result"]["metadata"].get("intentName")),
    "LUIS": (32, lambda answer: answer["intent"]),
    "RASA": (37, lambda answer: answer["intent"]["name"]),
    "Watson": (39, lambda answer: answer["intents"][0]["intent"]),
}
"""How many of the 39 alarm queries each service got right, as counted in the published files."""


@pytest.mark.parametrize("service", HWU64)
def test_answers_of_real_services(shared: Path, service: str) -> None:
    """Four published services on the same queries, each in its own answer format."""
    right, predicted = HWU64[service]
    folder = shared / "data" / "hwu64_service_outputs" / "testResults_Samples" / service
    (path,) = folder.rglob("*.json")
    answers = json.loads(path.read_text(encoding="utf-8"))["results"]
    records = [
        EvalRecord(sample_id=str(place), intent_l2="alarm_query", intent_pred=predicted(answer))
        for place, answer in enumerate(answers)
    ]
    result = intent.compute(records)
    assert result.overall == right / 39
    assert result.overall.n_counted == 39
    assert sum(pair.n for pair in intent.confusions(records)) == 39 - right
