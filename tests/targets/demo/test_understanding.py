"""From a message to leaves and paragraphs."""

from __future__ import annotations

import pytest

from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.understanding import Model, Understanding


def understood(model: Model, **faults: float) -> Understanding:
    return Understanding(model, Faults(**faults))


def test_each_sub_question_has_its_own_leaf(tiny: Model) -> None:
    parts = understood(tiny).parts("七天内可以退货吗？运费多少钱？")
    assert [part.leaf.intent_l2 if part.leaf else None for part in parts] == ["S1_退货", "S2_配送"]
    assert [part.hits[0].chunk.doc_id for part in parts] == ["POLICY_RETURN_001", "POLICY_SHIP_001"]


def test_a_sure_leaf_is_searched_in_its_own_documents(tiny: Model) -> None:
    question = "买了几天内可以退货，不满意能退吗"
    (part,) = understood(tiny).parts(question)
    everywhere = {hit.chunk.doc_id for hit in tiny.index.search(question)}
    assert part.scores[0] >= 0.6
    assert {hit.chunk.doc_id for hit in part.hits} == everywhere & tiny.documents(part.leaves) < everywhere


def test_an_unknown_question_is_searched_everywhere(tiny: Model) -> None:
    (part,) = understood(tiny).parts("主刷")
    assert part.leaf is None
    assert part.hits[0].chunk.doc_id == "ERR_ROBOT_012"


@pytest.mark.parametrize("question", ["你好", "帮我查一下订单"])
def test_leaves_without_documents_are_not_searched(tiny: Model, question: str) -> None:
    (part,) = understood(tiny).parts(question)
    assert part.leaf is not None
    assert part.leaf.kind != "KB"
    assert part.hits == ()


def test_at_most_three_leaves_in_all(shop: Model) -> None:
    for utterance in shop.knowledge.utterances[::10]:
        parts = understood(shop).parts(f"{utterance.text}？怎么开发票？保修多久？")
        assert sum(len(part.leaves) for part in parts) <= 3


def test_wrong_intent_takes_another_leaf_and_always_the_same(tiny: Model) -> None:
    right = understood(tiny).parts("运费多少钱")[0].leaf
    wrong = [understood(tiny, wrong_intent=1.0).parts("运费多少钱")[0].leaf for _ in range(2)]
    assert wrong[0] == wrong[1] != right


def test_a_dropped_document_is_gone(shop: Model) -> None:
    best = understood(shop).parts("耳机拆封后还能退吗")[0].hits[0].chunk.doc_id
    left = understood(shop, drop_document=1.0).parts("耳机拆封后还能退吗")[0].hits
    assert left
    assert best not in {hit.chunk.doc_id for hit in left}


def test_over_retrieval_searches_for_leaves_that_need_nothing(shop: Model) -> None:
    system = {leaf.intent_l2 for leaf in shop.knowledge.leaves if leaf.kind == "SYSTEM"}
    said = [utterance.text for utterance in shop.knowledge.utterances if utterance.intent in system]
    question = next(text for text in said if shop.index.search(text))
    assert understood(shop).parts(question)[0].hits == ()
    assert understood(shop, over_retrieve=1.0).parts(question)[0].hits != ()
