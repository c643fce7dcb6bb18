"""Answers made of what was found."""

from __future__ import annotations

import re

from evalkit.targets.demo.answers import NOTHING_FOUND, clarification, extract
from evalkit.targets.demo.understanding import Model


def test_nothing_found_is_said_in_the_fixed_words(tiny: Model) -> None:
    assert extract("量子力学", [], tiny.index) == NOTHING_FOUND == "未检索到与问题相关的文档内容。"


def test_the_sentence_that_answers_is_in_the_answer(tiny: Model) -> None:
    question = "不满多少钱要收运费"
    assert "不满收8元运费" in extract(question, tiny.index.search(question), tiny.index)


def test_no_word_comes_from_anywhere_but_the_documents(shop: Model) -> None:
    """Every sentence stands in a document whose title is cited before it."""
    by_title = {document.title: document.text for document in shop.knowledge.documents}
    questions = [utterance.text for utterance in shop.knowledge.utterances[::7]]
    told = 0
    for question in questions:
        answer = extract(question, shop.index.search(question), shop.index)
        if answer == NOTHING_FOUND:
            continue
        for paragraph in answer.split("\n"):
            title, _, text = paragraph.removeprefix("根据《").partition("》：")
            for sentence in re.split(r"(?<=[。！？!?；;])", text):
                assert sentence.rstrip("。；;") in by_title[title]
                told += 1
    assert told > 50


def test_the_question_back_names_the_choices(tiny: Model) -> None:
    text = clarification(tiny.knowledge.leaves[:2])
    assert "1. 退货规则" in text
    assert "2. 配送规则" in text
