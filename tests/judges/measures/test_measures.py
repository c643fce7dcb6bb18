"""Each measure by its published definition, claim by claim; what does not apply asks nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.answer_correctness import answer_correctness, claims_f1
from evalkit.judges.measures.answer_relevancy import answer_relevancy
from evalkit.judges.measures.context_precision import context_precision, mean_precision
from evalkit.judges.measures.context_recall import context_recall
from evalkit.judges.measures.faithfulness import faithfulness
from evalkit.judges.measures.intent_classification import intent_classification
from evalkit.judges.measures.llm_score import llm_score
from evalkit.judges.measures.pairwise import pairwise
from evalkit.judges.measures.safety import safety
from evalkit.judges.measures.task_completion import task_completion

Answer = Callable[[Question], dict[str, Any]]
RECORD = EvalRecord(
    sample_id="1",
    query="耳机能退吗？",
    response="耳机支持七天无理由退货，运费由商家承担。",
    reference="支持七天无理由退货，运费由买家承担。",
    retrieved_contexts=("本店耳机支持七天无理由退货。", "退货运费由买家承担。", "会员九五折。"),
    intent_l2="退货政策",
)


class Asked:
    """A judge who answers by a function, and remembers what it was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.questions: list[Question] = []

    async def __call__(self, question: Question) -> Judgement:
        self.questions.append(question)
        said = self.answer(question)
        return Judgement(judge="m@1", reason="理由", detail={k: v for k, v in said.items() if k != "label"}, label=said.get("label"), score=said.get("score"))  # fmt: skip


def scripted(claims: dict[str, list[str]], true: Sequence[str]) -> Asked:
    """Claims by text, and which statements are true."""

    def answer(question: Question) -> dict[str, Any]:
        if question.name == "claims":
            return {"lists": {"claims": claims[question.material["text"]]}}
        return {"items": {name: statement in true for name, statement in question.items.items()}}

    return Asked(answer)


async def embed(texts: Sequence[str]) -> list[list[float]]:
    """Vectors at known angles: cosine 0.8 with the first text, except for the first itself."""
    return [[1.0, 0.0], *([0.8, 0.6] for _ in texts[1:])]


def judged(measure: Any, record: EvalRecord = RECORD, **asked: Any) -> Any:
    return asyncio.run(measure(record, **asked))


def test_faithfulness_is_the_share_of_supported_claims() -> None:
    judge = scripted(
        {RECORD.response or "": ["支持七天无理由退货", "运费由商家承担"]}, ["支持七天无理由退货"]
    )
    found = judged(faithfulness, judge=judge)
    assert found.score == 0.5  # 1 of 2, as in the worked example of the RAGAS documentation
    assert found.detail["claims"] == [
        {"claim": "支持七天无理由退货", "supported": True},
        {"claim": "运费由商家承担", "supported": False},
    ]
    assert "会员九五折" in judge.questions[1].material["contexts"]


def test_context_recall_is_the_share_of_attributed_claims() -> None:
    judge = scripted({RECORD.reference or "": ["甲", "乙", "丙"]}, ["甲", "丙"])
    found = judged(context_recall, judge=judge)
    assert found.score == pytest.approx(2 / 3)
    assert [entry["attributed"] for entry in found.detail["claims"]] == [True, False, True]


@pytest.mark.parametrize(
    ("useful", "precision"),
    [
        ([True, False, True], (1 / 1 + 2 / 3) / 2),
        ([False, True], 1 / 2),  # RAGAS documentation: the useful text second of two gives 0.5
        ([True, True, False], 1.0),
        ([False, False], 0.0),
    ],
)
def test_context_precision_is_the_mean_precision_at_useful_ranks(
    useful: list[bool], precision: float
) -> None:
    assert mean_precision(useful) == pytest.approx(precision)


def test_context_precision_judges_every_text_at_its_rank() -> None:
    judge = Asked(lambda _: {"items": {"context1": False, "context2": True, "context3": True}})
    found = judged(context_precision, judge=judge)
    assert found.score == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert [entry["useful"] for entry in found.detail["contexts"]] == [False, True, True]
    assert judge.questions[0].material["context2"] == "退货运费由买家承担。"


def test_context_precision_is_the_average_precision() -> None:
    """Equal to scikit-learn's average precision, where every useful text is among those retrieved."""
    from sklearn.metrics import average_precision_score

    useful = [True, False, False, True, True, False]
    ranked = [len(useful) - rank for rank in range(len(useful))]
    assert mean_precision(useful) == pytest.approx(average_precision_score(useful, ranked))


def test_answer_relevancy_is_the_mean_cosine_with_questions_asked_backwards() -> None:
    said = {"lists": {"questions": ["能退吗", "怎么退", ""]}, "items": {"noncommittal": False}}
    found = judged(answer_relevancy, judge=Asked(lambda _: said), embed=embed)
    assert found.score == pytest.approx(0.8)
    assert [entry["question"] for entry in found.detail["questions"]] == ["能退吗", "怎么退"]


def test_a_vague_answer_is_not_relevant() -> None:
    said = {"lists": {"questions": ["能退吗"]}, "items": {"noncommittal": True}}
    assert judged(answer_relevancy, judge=Asked(lambda _: said), embed=embed).score == 0.0


def test_answer_correctness_weighs_claims_and_similarity() -> None:
    claims = {RECORD.response or "": ["可退", "商家付运费"], RECORD.reference or "": ["可退", "买家付运费"]}
    found = judged(answer_correctness, judge=scripted(claims, ["可退"]), embed=embed)
    # TP 1, FP 1, FN 1: F1 = 1 / (1 + 0.5 (1 + 1)) = 0.5; cosine 0.8; 0.75 x 0.5 + 0.25 x 0.8 = 0.575
    assert (found.detail["f1"], found.detail["similarity"]) == (0.5, pytest.approx(0.8))
    assert found.score == pytest.approx(0.575)


@pytest.mark.parametrize(
    ("counts", "f1"), [((2, 0, 0), 1.0), ((0, 3, 1), 0.0), ((0, 0, 0), 0.0), ((3, 1, 2), 3 / 4.5)]
)
def test_f1_of_claims(counts: tuple[int, int, int], f1: float) -> None:
    assert claims_f1(*counts) == pytest.approx(f1)


def test_dimensions_are_asked_in_one_call() -> None:
    judge = Asked(lambda question: {"dimensions": dict.fromkeys(question.dimensions, 6), "score": 0.6})
    assert judged(llm_score, judge=judge).score == 0.6
    assert (len(judge.questions), len(judge.questions[0].dimensions)) == (1, 3)


def test_task_completion_weighs_slots_and_steps() -> None:
    record = EvalRecord.model_validate(
        {
            **RECORD.model_dump(),
            "required_slots": [{"name": name} for name in "abcde"],
            "required_steps": [{"name": name} for name in ("核实", "下单")],
        }
    )
    true = {"slot:a", "slot:b", "slot:c", "step:核实"}
    judge = Asked(lambda question: {"items": {name: name in true for name in question.items}})
    found = judged(task_completion, record, judge=judge)
    assert found.score == pytest.approx(0.4 * 3 / 5 + 0.6 * 1 / 2)  # 3 of 5 slots, 1 of 2 steps
    assert found.detail["slots"]["d"] is False


@pytest.mark.parametrize(("label", "score"), [("退货政策", 1.0), ("换货", 0.0)])
def test_intent_is_right_or_wrong(label: str, score: float) -> None:
    judge = Asked(lambda _: {"label": label})
    found = judged(intent_classification, judge=judge, labels={"退货政策": "", "换货": ""})
    assert (found.score, found.label) == (score, label)


def test_one_violation_is_unsafe() -> None:
    clean = Asked(lambda question: {"items": dict.fromkeys(question.items, False)})
    leaking = Asked(lambda question: {"items": {name: name == "privacy" for name in question.items}})
    assert (judged(safety, judge=clean).score, judged(safety, judge=clean).label) == (1.0, "safe")
    found = judged(safety, judge=leaking)
    assert (found.score, found.label, found.detail["violations"]) == (0.0, "unsafe", ["privacy"])


@pytest.mark.parametrize(
    ("labels", "winner", "score"),
    [
        pytest.param(["A", "A"], "tie", 0.5, id="always-the-first"),
        pytest.param(["B", "B"], "tie", 0.5, id="always-the-second"),
        pytest.param(["A", "B"], "this", 1.0, id="this"),
        pytest.param(["B", "A"], "other", 0.0, id="other"),
        pytest.param(["A", "tie"], "tie", 0.5, id="half-sure"),
        pytest.param(["tie", "tie"], "tie", 0.5, id="tie"),
    ],
)
def test_a_judge_who_favours_a_place_says_tie(labels: list[str], winner: str, score: float) -> None:
    """J13."""
    answers = iter(labels)
    other = RECORD.model_copy(update={"response": "不清楚。"})
    found = judged(pairwise, judge=Asked(lambda _: {"label": next(answers)}), others={"1": other})
    assert (found.label, found.score) == (winner, score)


ASKS: list[tuple[Any, dict[str, Any]]] = [
    (faithfulness, {}),
    (context_precision, {}),
    (context_recall, {}),
    (answer_relevancy, {"embed": embed}),
    (answer_correctness, {"embed": embed}),
    (llm_score, {}),
    (task_completion, {}),
    (intent_classification, {"labels": {}}),
    (safety, {}),
    (pairwise, {"others": {}}),
]


@pytest.mark.parametrize(("measure", "asks"), ASKS, ids=lambda part: getattr(part, "__name__", ""))
def test_what_does_not_apply_asks_nothing_and_is_null(measure: Any, asks: dict[str, Any]) -> None:
    judge = Asked(lambda _: {})
    nothing = EvalRecord(sample_id="1", query="x", response=None, retrieved_contexts=())
    failed = RECORD.model_copy(update={"answer_status": "error", "evidence_status": "error"})
    assert judged(measure, nothing, judge=judge, **asks) is None
    assert judged(measure, failed, judge=judge, **asks) is None
    assert judge.questions == []


@pytest.mark.parametrize(
    ("measure", "asks"),
    [
        (faithfulness, {}), (context_precision, {}), (context_recall, {}), (llm_score, {}), (safety, {}),
        (answer_relevancy, {"embed": embed}), (answer_correctness, {"embed": embed}),
        (intent_classification, {"labels": {"退货政策": ""}}), (pairwise, {"others": {"1": RECORD}}),
    ],
    ids=lambda part: getattr(part, "__name__", ""),
)  # fmt: skip
@pytest.mark.parametrize("status", ["judge_error", "judge_refused", "over_budget"])
def test_a_failure_is_given_on_and_never_a_score(measure: Any, asks: dict[str, Any], status: Any) -> None:
    async def judge(_: Question) -> Judgement:
        return Judgement(status=status, reason="why")

    found = judged(measure, judge=judge, **asks)
    assert (found.status, found.score, found.reason) == (status, None, "why")


@pytest.mark.parametrize("measure", [faithfulness, context_recall])
def test_a_text_without_claims_has_no_score(measure: Any) -> None:
    found = judged(measure, judge=Asked(lambda _: {"lists": {"claims": [" "]}}))
    assert (found.status, found.score) == ("ok", None)
