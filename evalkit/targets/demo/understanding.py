"""From a message to what it needs: sub-questions, the leaf of each, and the paragraphs that serve it.

A leaf's documents are searched where the leaf is sure; all of them where it is not, or has nothing that fits.
Leaves that are answered without documents are not searched for.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.targets.demo.faults import Faults
from evalkit.targets.demo.intents import MAX_CANDIDATES, Candidate, Classifier
from evalkit.targets.demo.knowledge import DATA, Knowledge, Leaf, Utterance, load
from evalkit.targets.demo.products import Products
from evalkit.targets.demo.questions import refers_back, sub_questions
from evalkit.targets.demo.retrieval import Hit, Index, by_document

__all__ = ["Model", "Part", "Understanding", "trained"]

SURE = 0.6
CLOSE = 0.1


@dataclass(frozen=True, slots=True)
class Model:
    """What is made once from the shop's knowledge and never changes."""

    knowledge: Knowledge
    index: Index
    classifier: Classifier
    products: Products

    def documents(self, leaves: Sequence[Leaf]) -> frozenset[str]:
        """The codes of the documents that serve any of these leaves."""
        wanted = {leaf.intent_l2 for leaf in leaves}
        return frozenset(doc.doc_id for doc in self.knowledge.documents if wanted & set(doc.intents))


@dataclass(frozen=True, slots=True)
class Part:
    """One sub-question, understood: its leaves, most likely first (none when unsure), and what was found."""

    question: str
    leaves: tuple[Leaf, ...]
    scores: tuple[float, ...]
    hits: tuple[Hit, ...] = ()

    @property
    def leaf(self) -> Leaf | None:
        """The most likely leaf."""
        return self.leaves[0] if self.leaves else None

    @property
    def ambiguous(self) -> bool:
        """Whether the first two leaves are about as likely."""
        return len(self.scores) > 1 and self.scores[0] - self.scores[1] < CLOSE


@functools.lru_cache(maxsize=4)
def trained(folder: Path = DATA) -> Model:
    """The model of the shop in `folder`: index built and classifier trained, once a process."""
    knowledge = load(folder)
    names = [order["product"] for order in knowledge.shop["orders"]]
    titles = [
        doc.title.removesuffix(" 手机").removesuffix(" 笔记本电脑")
        for doc in knowledge.documents
        if doc.kind == "product"
    ]
    return Model(
        knowledge,
        Index(chunk for document in knowledge.documents for chunk in document.chunks()),
        Classifier(knowledge.utterances, _background(knowledge)),
        Products([*names, *titles]),
    )


def _background(knowledge: Knowledge) -> list[Utterance]:
    """What the intent tree and the titles of the documents say of each leaf."""
    told = [Utterance(leaf.intent_l2, f"{leaf.name} {leaf.description}") for leaf in knowledge.leaves]
    return told + [Utterance(intent, doc.title) for doc in knowledge.documents for intent in doc.intents]


@dataclass(frozen=True, slots=True)
class Understanding:
    """The first half of the pipeline, shared by the answer and the evidence channel."""

    model: Model
    faults: Faults

    def parts(self, message: str, *, previous: str | None = None) -> tuple[Part, ...]:
        """What `message` asks, one part a sub-question; at most three leaves in all.

        `previous` is the question before, for messages that only refer back to it.
        """
        questions = sub_questions(self._in_context(message, previous))
        spare = MAX_CANDIDATES - len(questions)
        found = []
        for question in questions:
            leaves = self._leaves(question, message)
            kept = leaves[: 1 + max(spare, 0)]
            spare -= max(len(kept) - 1, 0)
            found.append(self.searched(Part(question, *_columns(kept)), message))
        return tuple(found)

    def searched(self, part: Part, message: str) -> Part:
        """`part` with the paragraphs for it; none where its leaf needs none."""
        leaf = part.leaf
        if leaf and leaf.kind != "KB" and not self.faults.strikes("over_retrieve", message):
            return part
        within = [leaf for leaf in part.leaves if leaf.kind == "KB"]
        hits: list[Hit] = []
        if within and part.scores[0] >= SURE:
            hits = self.model.index.search(part.question, within=self.model.documents(within))
        hits = hits or self.model.index.search(part.question)
        if hits and self.faults.strikes("drop_document", message):
            lost = by_document(hits)[0].chunk.doc_id
            hits = [hit for hit in hits if hit.chunk.doc_id != lost]
        return Part(part.question, part.leaves, part.scores, tuple(hits))

    def _in_context(self, message: str, previous: str | None) -> str:
        """`message` as it is meant: the question before, asked of another product, or taken along as it is."""
        if not previous or not refers_back(message):
            return message
        return self.model.products.replaced(previous, message) or f"{previous} {message}"

    def _leaves(self, question: str, message: str) -> list[tuple[Leaf, float]]:
        candidates = self.model.classifier.candidates(question)
        if self.faults.strikes("wrong_intent", message):
            candidates = [Candidate(self._another(question, candidates), 0.9)]
        return [(self.model.knowledge.leaf(intent), score) for intent, score in candidates]

    def _another(self, question: str, candidates: Sequence[Candidate]) -> str:
        """Some leaf that the question was not thought to belong to, always the same one."""
        others = [
            label for label in self.model.classifier.labels if label not in {c.intent for c in candidates}
        ]
        return others[hashlib.sha256(question.encode()).digest()[0] % len(others)]


def _columns(pairs: Sequence[tuple[Leaf, float]]) -> tuple[tuple[Leaf, ...], tuple[float, ...]]:
    return tuple(leaf for leaf, _ in pairs), tuple(score for _, score in pairs)
