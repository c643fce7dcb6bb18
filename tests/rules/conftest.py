"""Dialogs and judges for the tests of rules."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from evalkit.contracts import Case, Judgement, Question, Turn


@pytest.fixture(scope="session")
def case() -> Case:
    return Case(sample_id="1", query="能退吗")


def dialog(*exchanges: tuple[str, str]) -> list[Turn]:
    """The turns in which the user said the first of each pair and the agent replied the second."""
    return [Turn(sent_message=sent, reply=reply) for sent, reply in exchanges]


def reply(text: str) -> list[Turn]:
    """A dialog of one turn."""
    return dialog(("能退吗", text))


class Judge:
    """A judge that gives one judgement to every question, and keeps the questions."""

    def __init__(self, **judgement: Any) -> None:
        self.judgement = Judgement(judge="model@1", **judgement)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Judgement:
        self.asked.append(question)
        return self.judgement


def embedding(vectors: Mapping[str, list[float]]) -> Callable[[Any], Awaitable[list[list[float]]]]:
    """An embedding of known texts."""

    async def embed(texts: Any) -> list[list[float]]:
        return [vectors[text] for text in texts]

    return embed
