"""Texts as lists of claims, and several judgements as one: what the measures that look closely share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evalkit.contracts import Judgement, Question, Usage
from evalkit.kinds import Judge
from evalkit.questions.wording import phrase
from evalkit.questions.wording import text as prompt

__all__ = ["claims_of", "cosine", "listed", "merged", "truths"]


async def claims_of(text: str, *, question: str, judge: Judge) -> Judgement:
    """The claims that a text makes, in `detail["lists"]["claims"]`; `question` only resolves its pronouns."""
    return await judge(
        Question(
            name="claims",
            task=prompt("claims"),
            material={"question": question, "text": text},
            lists={"claims": phrase("claims")},
        )
    )


def listed(judgement: Judgement, name: str) -> list[str]:
    """The texts of a list that are not empty."""
    lists: Any = judgement.detail.get("lists") or {}
    return [text for text in lists.get(name, []) if text.strip()]


def truths(judgement: Judgement) -> dict[str, bool]:
    """What was found true or not, by name."""
    items: Any = judgement.detail.get("items") or {}
    return dict(items)


def merged(parts: Sequence[Judgement], *, score: float | None, **detail: Any) -> Judgement:
    """One judgement of several that all have verdicts: the last one's reason, everybody's tokens."""
    last = parts[-1]
    remarks = {name: last.detail[name] for name in ("served_by", "question") if name in last.detail}
    cut = {"truncated": True} if any(part.detail.get("truncated") for part in parts) else {}
    return Judgement(
        score=score,
        reason=last.reason,
        detail={**detail, **remarks, **cut},
        judge=last.judge,
        cached=all(part.cached for part in parts),
        usage=Usage.summed(part.usage for part in parts),
    )


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """The cosine of the angle between two vectors that are not zero."""
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    lengths = sum(a * a for a in one) * sum(b * b for b in other)
    return float(max(-1.0, min(1.0, dot / lengths**0.5)))
