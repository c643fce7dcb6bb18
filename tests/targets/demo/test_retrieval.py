"""Documents for a question."""

from __future__ import annotations

import math

import pytest

from evalkit.targets.demo.knowledge import Chunk
from evalkit.targets.demo.retrieval import Hit, Index, by_document
from evalkit.targets.demo.understanding import Model

CHUNKS = [
    Chunk("A#0", "A", "", "苹果"),
    Chunk("B#0", "B", "", "苹果 苹果 香蕉"),
    Chunk("C#0", "C", "", "橙子"),
]


@pytest.mark.parametrize(
    ("question", "doc_id"),
    [
        ("拆封的耳机能退吗", "POLICY_RETURN_001"),
        ("运费是多少", "POLICY_SHIP_001"),
        ("偏远地区几天送到", "POLICY_SHIP_001"),
        ("报 e12 了", "ERR_ROBOT_012"),
    ],
)
def test_the_right_document_comes_first(tiny: Model, question: str, doc_id: str) -> None:
    assert tiny.index.search(question)[0].chunk.doc_id == doc_id


@pytest.mark.parametrize("question", ["量子力学的基本假设", "", "？？", "hello world"])
def test_nothing_is_found_where_nothing_fits(tiny: Model, question: str) -> None:
    assert tiny.index.search(question) == []


def test_only_the_documents_asked_for_are_searched(tiny: Model) -> None:
    found = tiny.index.search("运费是多少", within={"POLICY_RETURN_001"})
    assert {hit.chunk.doc_id for hit in found} <= {"POLICY_RETURN_001"}


def test_score_is_bm25_over_what_could_be_reached() -> None:
    """By hand from eq. 3.15 of Robertson & Zaragoza (2009), k1 = 1.2, b = 0.75; lengths 3, 9 and 3 terms."""
    index = Index(CHUNKS)
    idf = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    norm = 1.2 * (1 - 0.75 + 0.75 * 3 / (15 / 3))
    hit = index.search("橙")[0]
    assert hit.chunk.chunk_id == "C#0"
    assert hit.score == pytest.approx(idf * 2.2 / (1 + norm) / (idf * 2.2))


def test_a_word_that_no_document_has_lowers_the_score() -> None:
    index = Index(CHUNKS)
    assert index.search("橙子 葡萄")[0].score < index.search("橙子")[0].score


def test_equal_scores_keep_the_order_of_the_corpus() -> None:
    twins = [Chunk(f"{name}#0", name, "", "同样的话") for name in "QPR"]
    assert [hit.chunk.doc_id for hit in Index(twins).search("同样的话")] == ["Q", "P", "R"]


def test_a_document_is_as_good_as_its_best_paragraph() -> None:
    hits = [Hit(Chunk("A#0", "A", "", ""), 0.2), Hit(Chunk("B#0", "B", "", ""), 0.3), Hit(Chunk("A#1", "A", "", ""), 0.5)]  # fmt: skip
    assert [(hit.chunk.chunk_id, hit.score) for hit in by_document(hits)] == [("A#1", 0.5), ("B#0", 0.3)]


def test_an_empty_corpus_finds_nothing() -> None:
    assert Index([]).search("耳机") == []
