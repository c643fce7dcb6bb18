"""What the shop knows, read from one folder: documents, intents, training utterances, and the store's seed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

__all__ = ["Chunk", "Document", "Knowledge", "Leaf", "Utterance", "load"]

DATA = Path(__file__).parent / "data"
"""The folder of the shop that comes with the package."""


class Chunk(NamedTuple):
    """A paragraph of a document: the unit that is found. `chunk_id` is the document's code and a number."""

    chunk_id: str
    doc_id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """One text of the shop under its business code; `intents` are the leaves that it serves."""

    doc_id: str
    title: str
    kind: str
    intents: tuple[str, ...]
    text: str

    def chunks(self) -> Iterator[Chunk]:
        """Its paragraphs in order."""
        paragraphs = [part.strip() for part in self.text.split("\n\n") if part.strip()]
        for number, paragraph in enumerate(paragraphs):
            yield Chunk(f"{self.doc_id}#{number}", self.doc_id, self.title, paragraph)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf of the intent tree: answered from documents (KB), by `reply` (SYSTEM) or by `task` (MCP)."""

    intent_l1: str
    intent_l2: str
    name: str
    description: str
    kind: Literal["KB", "SYSTEM", "MCP"]
    task: str | None = None
    reply: str | None = None


class Utterance(NamedTuple):
    """One way to express an intent: a line of the classifier's training set."""

    intent: str
    text: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All of it, read once."""

    documents: tuple[Document, ...]
    leaves: tuple[Leaf, ...]
    utterances: tuple[Utterance, ...]
    shop: Mapping[str, Any]

    def leaf(self, intent: str) -> Leaf:
        """The leaf of that code; KeyError when there is none."""
        return next(leaf for leaf in self.leaves if leaf.intent_l2 == intent)


def load(folder: Path | str = DATA) -> Knowledge:
    """The knowledge in `folder`: corpus.jsonl, intents.json, utterances.jsonl and shop.json."""
    place = Path(folder)
    return Knowledge(
        documents=tuple(
            Document(**{**line, "intents": tuple(line["intents"])}) for line in _lines(place / "corpus.jsonl")
        ),
        leaves=tuple(Leaf(**leaf) for leaf in _json(place / "intents.json")),
        utterances=tuple(Utterance(**line) for line in _lines(place / "utterances.jsonl")),
        shop=_json(place / "shop.json"),
    )


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
