"""Does the answer address what was asked? Asked backwards: which question would it be the answer to?"""

from __future__ import annotations

from evalkit.contracts import EvalRecord, Judgement, Question
from evalkit.judges.measures.claims import cosine, listed, merged, truths
from evalkit.judges.measures.material import answered, question
from evalkit.kinds import Embed, Judge
from evalkit.questions.wording import phrase
from evalkit.questions.wording import text as prompt

__all__ = ["answer_relevancy"]


async def answer_relevancy(record: EvalRecord, *, judge: Judge, embed: Embed) -> Judgement | None:
    """Mean cosine between the question and the questions that the answer would answer; 0 for a vague answer.

    Applies to every answer; without any such question there is no score. A negative mean counts as 0;
    `detail["questions"]` has each question with its cosine. Source: Es et al. (2023), arXiv 2309.15217, section 3.
    """
    if not answered(record):
        return None
    found = await judge(
        Question(
            name="answer_relevancy",
            task=prompt("answer_relevancy"),
            material={"answer": record.response or ""},
            lists={"questions": phrase("questions")},
            items={"noncommittal": phrase("noncommittal")},
        )
    )
    questions = listed(found, "questions")
    if found.status != "ok" or not questions:
        return found if found.status != "ok" else merged([found], score=None, questions=[])
    asked, *backwards = await embed([question(record), *questions])
    cosines = [cosine(asked, vector) for vector in backwards]
    vague = truths(found)["noncommittal"]
    told = [{"question": text, "cosine": value} for text, value in zip(questions, cosines, strict=True)]
    score = 0.0 if vague else max(0.0, sum(cosines) / len(cosines))
    return merged([found], score=score, questions=told, noncommittal=vague)
