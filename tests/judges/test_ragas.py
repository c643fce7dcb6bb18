"""The five RAGAS measures against the package of that name: both are told the same, and must come to the same.

Only where `ragas` is installed, which needs an environment of its own; docs/judges.md says how. A script of
what a judge finds is told to each side in the form that it asks for. The few cases in which both differ by
intention are told on that page and are not drawn here: a text that claims nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.answer_correctness import answer_correctness
from evalkit.judges.measures.answer_relevancy import answer_relevancy
from evalkit.judges.measures.context_precision import context_precision
from evalkit.judges.measures.context_recall import context_recall
from evalkit.judges.measures.faithfulness import faithfulness

with warnings.catch_warnings():  # of the package's own dependencies
    warnings.simplefilter("ignore")
    pytest.importorskip("ragas", reason="the package ragas is not installed", exc_type=ImportError)
    collections = importlib.import_module("ragas.metrics.collections")
    embeddings = importlib.import_module("ragas.embeddings.base")
    llms = importlib.import_module("ragas.llms.base")

pytestmark = pytest.mark.filterwarnings("ignore")

QUESTION, ANSWER, REFERENCE = "耳机能退吗", "可以，七天内能退。运费自理。", "七天内可以无理由退货。"


@dataclass(frozen=True)
class Script:
    """What a judge finds: whether each claim of the answer and of the reference holds, each text helps, …"""

    answer_claims: tuple[bool, ...]
    reference_claims: tuple[bool, ...]
    useful: tuple[bool, ...]
    questions: tuple[str, str, str]
    noncommittal: bool

    @property
    def contexts(self) -> tuple[str, ...]:
        return tuple(f"第{place}段" for place in range(len(self.useful)))

    @property
    def record(self) -> EvalRecord:
        return EvalRecord(
            sample_id="1",
            query=QUESTION,
            response=ANSWER,
            answer_status="ok",
            evidence_status="ok",
            reference=REFERENCE,
            retrieved_contexts=self.contexts,
        )


def vector(text: str) -> list[float]:
    """A vector for each text, the same on both sides, with parts of both signs."""
    return [byte / 255 - 0.25 for byte in hashlib.sha256(text.encode()).digest()[:8]]


async def embed(texts: Sequence[str]) -> list[list[float]]:
    return [vector(text) for text in texts]


def ours(script: Script) -> Callable[[Question], Any]:
    """The script as our judge tells it."""

    def lists(question: Question) -> dict[str, list[str]]:
        if question.name == "answer_relevancy":
            return {"questions": [*script.questions]}
        of_answer = question.material["text"] == ANSWER
        flags = script.answer_claims if of_answer else script.reference_claims
        return {"claims": [f"断言{place}" for place in range(len(flags))]}

    def items(question: Question) -> list[bool]:
        return {
            "answer_relevancy": [script.noncommittal],
            "faithfulness": [*script.answer_claims],
            "context_recall": [*script.reference_claims],
            "context_precision": [*script.useful],
            "answer_correctness": [*script.answer_claims, *script.reference_claims],
        }[question.name]

    async def judge(question: Question) -> Judgement:
        told: dict[str, Any] = {"lists": lists(question)} if question.lists else {}
        if question.items:
            told["items"] = dict(zip(question.items, items(question), strict=True))
        return Judgement(detail=told)

    return judge


class Theirs(llms.InstructorBaseRagasLLM):  # type: ignore[misc, name-defined]
    """The script as the package's model tells it, in the form that each of its prompts wants back."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: dict[str, int] = {}

    def generate(self, prompt: str, response_model: Any) -> Any:  # noqa: ARG002
        name = response_model.__name__
        turn = self.asked[name] = self.asked.get(name, -1) + 1
        return response_model.model_validate(getattr(self, f"_{name}")(turn))

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        return self.generate(prompt, response_model)

    def _StatementGeneratorOutput(self, turn: int) -> Any:  # noqa: N802 - the package's names
        flags = (self.script.answer_claims, self.script.reference_claims)[turn]
        return {"statements": [f"断言{place}" for place in range(len(flags))]}

    def _NLIStatementOutput(self, _turn: int) -> Any:  # noqa: N802
        return {"statements": [_told(flag, "verdict") for flag in self.script.answer_claims]}

    def _ContextRecallOutput(self, _turn: int) -> Any:  # noqa: N802
        return {"classifications": [_told(flag, "attributed") for flag in self.script.reference_claims]}

    def _ContextPrecisionOutput(self, turn: int) -> Any:  # noqa: N802
        return {"reason": "", "verdict": int(self.script.useful[turn])}

    def _AnswerRelevanceOutput(self, turn: int) -> Any:  # noqa: N802
        return {"question": self.script.questions[turn], "noncommittal": int(self.script.noncommittal)}

    def _ClassificationWithReason(self, _turn: int) -> Any:  # noqa: N802
        said, wanted = self.script.answer_claims, self.script.reference_claims
        counts = {"TP": said.count(True), "FP": said.count(False), "FN": wanted.count(False)}
        return {name: [{"statement": "断言", "reason": ""}] * n for name, n in counts.items()}


def _told(flag: bool, name: str) -> dict[str, Any]:  # noqa: FBT001
    return {"statement": "断言", "reason": "", name: int(flag)}


class Vectors(embeddings.BaseRagasEmbedding):  # type: ignore[misc, name-defined]
    """The same vectors, as the package asks for them."""

    def embed_text(self, text: str, **_: Any) -> list[float]:
        return vector(text)

    async def aembed_text(self, text: str, **_: Any) -> list[float]:
        return vector(text)


def theirs(metric: str, script: Script) -> float:
    """The package's number."""
    parts: dict[str, Any] = {"llm": Theirs(script)}
    if metric in {"AnswerRelevancy", "AnswerCorrectness"}:
        parts["embeddings"] = Vectors()
    given_ = {
        "user_input": QUESTION,
        "response": ANSWER,
        "reference": REFERENCE,
        "retrieved_contexts": list(script.contexts),
    }
    wanted = {
        "Faithfulness": ("user_input", "response", "retrieved_contexts"),
        "AnswerRelevancy": ("user_input", "response"),
        "AnswerCorrectness": ("user_input", "response", "reference"),
        "ContextPrecisionWithReference": ("user_input", "reference", "retrieved_contexts"),
        "ContextRecall": ("user_input", "retrieved_contexts", "reference"),
    }[metric]
    scorer = getattr(collections, metric)(**parts)
    found = asyncio.run(scorer.ascore(**{name: given_[name] for name in wanted}))
    return float(found.value)


FLAGS = st.lists(st.booleans(), min_size=1, max_size=6).map(tuple)
SCRIPTS = st.builds(
    Script,
    answer_claims=FLAGS,
    reference_claims=FLAGS,
    useful=FLAGS,
    questions=st.tuples(*[st.sampled_from(["能退吗", "运费谁出", "几天内能退", "在哪里退"])] * 3),
    noncommittal=st.booleans(),
)
MEASURES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Faithfulness": (faithfulness, {}),
    "AnswerRelevancy": (answer_relevancy, {"embed": embed}),
    "AnswerCorrectness": (answer_correctness, {"embed": embed}),
    "ContextPrecisionWithReference": (context_precision, {}),
    "ContextRecall": (context_recall, {}),
}


@pytest.mark.parametrize("metric", MEASURES)
@given(script=SCRIPTS)
@settings(max_examples=100)
def test_both_come_to_the_same_number(metric: str, script: Script) -> None:
    """100 scripts a metric; the package adds 1e-10 to the denominator of context precision."""
    measure, resources = MEASURES[metric]
    mine = asyncio.run(measure(script.record, judge=ours(script), **resources))
    assert mine.score == pytest.approx(max(0.0, theirs(metric, script)), abs=1e-9)
