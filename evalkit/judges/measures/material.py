"""What of a record is shown to a judge, and whether there is anything to judge."""

from __future__ import annotations

from evalkit.contracts import EvalRecord

__all__ = ["answered", "contexts", "numbered", "question"]


def answered(record: EvalRecord) -> bool:
    """Whether there is an answer: a channel that failed has none, whatever had come of it."""
    return record.answer_status == "ok" and bool((record.response or "").strip())


def question(record: EvalRecord) -> str:
    """What the answer answers: the last thing that the user said."""
    return record.user_turns[-1]


def numbered(prefix: str, texts: list[str] | tuple[str, ...]) -> dict[str, str]:
    """The texts by the names `prefix` 1, 2, …"""
    return {f"{prefix}{number}": text for number, text in enumerate(texts, start=1)}


def contexts(record: EvalRecord) -> tuple[str, ...]:
    """The retrieved texts that are not empty, best first; none where none was seen."""
    return tuple(text for text in record.retrieved_contexts or () if text.strip())
