"""Documents for a question: BM25 over paragraphs, a document as good as its best paragraph.

Scores are BM25 divided by the most that any paragraph could reach for that question, so that one cut holds
for short and long questions alike: 0 shares nothing with the question, 1 would say every term of it over and
over. Source of the formula: Robertson & Zaragoza (2009), FnTIR 3(4), eq. 3.15, with idf = ln(1 + (N - n +
0.5) / (n + 0.5)).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.targets.demo.knowledge import Chunk
from evalkit.targets.demo.words import content_terms

__all__ = ["Hit", "Index", "by_document"]

K1 = 1.2
B = 0.75
LIMIT = 10
MIN_SCORE = 0.1
MIN_SHARE_OF_BEST = 0.4


class Hit(NamedTuple):
    """A paragraph that was found, and how well it fits: 0–1, comparable within one question."""

    chunk: Chunk
    score: float


@dataclass(frozen=True, slots=True)
class _Posting:
    """The paragraphs with one term, and what the term adds to the score of each."""

    rows: NDArray[np.int64]
    weights: NDArray[np.float64]


class Index:
    """An inverted index over paragraphs; a document's title counts as part of each of its paragraphs."""

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.chunks = tuple(chunks)
        counts = [Counter(content_terms(f"{chunk.title} {chunk.text}")) for chunk in self.chunks]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        norm = K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0)) if counts else lengths
        self._postings = {term: self._posting(rows, norm) for term, rows in _rows(counts).items()}

    def search(
        self, question: str, *, within: Collection[str] | None = None, limit: int = LIMIT
    ) -> list[Hit]:
        """The paragraphs that fit `question`, best first, at most `limit`; none when nothing fits.

        `within` are the documents to look in, all where it is None. Left out is what scores below
        `MIN_SCORE`, or below `MIN_SHARE_OF_BEST` of the best. Equal scores keep the order of the corpus.
        """
        scores = self._scores(set(content_terms(question)))
        if within is not None:
            scores *= np.array([chunk.doc_id in within for chunk in self.chunks], dtype=np.float64)
        order = np.argsort(-scores, kind="stable")[:limit]
        floor = max(MIN_SCORE, MIN_SHARE_OF_BEST * float(scores[order[0]])) if len(order) else 0.0
        return [Hit(self.chunks[row], float(scores[row])) for row in order if scores[row] >= floor]

    def idf(self, term: str) -> float:
        """How much it says that a paragraph has `term`; highest for a term of no paragraph."""
        posting = self._postings.get(term)
        return self._idf(0 if posting is None else len(posting.rows))

    def _idf(self, n: int) -> float:
        return float(np.log(1 + (len(self.chunks) - n + 0.5) / (n + 0.5)))

    def _posting(self, rows: dict[int, int], norm: NDArray[np.float64]) -> _Posting:
        where = np.fromiter(rows.keys(), dtype=np.int64)
        often = np.fromiter(rows.values(), dtype=np.float64)
        return _Posting(where, self._idf(len(rows)) * often * (K1 + 1) / (often + norm[where]))

    def _scores(self, wanted: Collection[str]) -> NDArray[np.float64]:
        scores = np.zeros(len(self.chunks))
        for term in sorted(wanted):
            posting = self._postings.get(term)
            if posting is not None:
                scores[posting.rows] += posting.weights
        reachable = sum(self.idf(term) for term in wanted) * (K1 + 1)
        return scores / reachable if reachable else scores


def by_document(hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each document, best document first."""
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        best.setdefault(hit.chunk.doc_id, hit)
    return list(best.values())


def _rows(counts: Sequence[Counter[str]]) -> dict[str, dict[int, int]]:
    """Term to paragraph number to how often it occurs there."""
    rows: dict[str, dict[int, int]] = {}
    for row, count in enumerate(counts):
        for term, often in count.items():
            rows.setdefault(term, {})[row] = often
    return rows
