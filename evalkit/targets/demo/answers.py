"""An answer made of what was retrieved: the sentences that fit the question best, under their titles.

Nothing is said that no document says; what cannot be found is said not to be found.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from evalkit.targets.demo.knowledge import Leaf
from evalkit.targets.demo.retrieval import Hit, Index
from evalkit.targets.demo.words import content_terms

__all__ = ["clarification", "extract"]

NOTHING_FOUND = "未检索到与问题相关的文档内容。"

_MAX_SENTENCES = 4
_MAX_CHUNKS = 4
_SHARE_OF_BEST = 0.5
_SENTENCE = re.compile(r"[^。！？!?；;\n]+[。！？!?；;]?")


class _Sentence(NamedTuple):
    score: float
    place: tuple[int, str, int]
    title: str
    text: str


def extract(question: str, hits: Sequence[Hit], index: Index) -> str:
    """The best sentences of the best paragraphs, in the order of the documents; fixed text for no hits.

    A sentence is as good as the terms it shares with the question are rare, times the score of its paragraph.
    At most four, and none less than half as good as the best.
    """
    if not hits:
        return NOTHING_FOUND
    wanted = {term: index.idf(term) for term in content_terms(question)}
    order = [hit.chunk.doc_id for hit in hits]
    sentences = [
        sentence
        for hit in hits[:_MAX_CHUNKS]
        for sentence in _sentences(hit, order.index(hit.chunk.doc_id), wanted)
    ]
    best = sorted(sentences, key=lambda sentence: -sentence.score)[:_MAX_SENTENCES]
    kept = [sentence for sentence in best if sentence.score >= _SHARE_OF_BEST * best[0].score]
    return _told(sorted(kept, key=lambda sentence: sentence.place))


def clarification(leaves: Sequence[Leaf]) -> str:
    """The question back to the user where several leaves are about as likely."""
    choices = "；".join(f"{number}. {leaf.name}" for number, leaf in enumerate(leaves, 1))
    return f"您的问题可能涉及以下几个方面，请问您想了解的是哪一个？{choices}。回复序号或名称即可。"


def _sentences(hit: Hit, document: int, wanted: dict[str, float]) -> list[_Sentence]:
    found = []
    for number, match in enumerate(_SENTENCE.finditer(hit.chunk.text)):
        text = match.group().strip()
        shared = sum(wanted.get(term, 0.0) for term in set(content_terms(text)))
        found.append(
            _Sentence(shared * hit.score, (document, hit.chunk.chunk_id, number), hit.chunk.title, text)
        )
    return found


def _told(sentences: Sequence[_Sentence]) -> str:
    """The sentences as text, each title once before what it says."""
    parts: list[str] = []
    title = None
    for sentence in sentences:
        if sentence.title != title:
            title = sentence.title
            parts.append(f"\n根据《{title}》：" if parts else f"根据《{title}》：")
        parts.append(sentence.text)
    return re.sub(r"[；;](?=\n|$)", "。", "".join(parts))
