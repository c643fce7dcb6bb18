"""What was understood and found, in the real system's fields: side channel, end of an answer, intent tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from evalkit.targets.demo.admission import number
from evalkit.targets.demo.knowledge import Chunk, Knowledge, Leaf
from evalkit.targets.demo.retrieval import LIMIT, Hit, by_document
from evalkit.targets.demo.slots import Reader
from evalkit.targets.demo.tools import Tools
from evalkit.targets.demo.understanding import Part

__all__ = ["evidence", "sources", "tree"]

_EXCERPT = 100
_KINDS = {"KB": 0, "SYSTEM": 1, "MCP": 2}
_EXAMPLES = 3
_LOOKUPS = ("order_query", "return_request")


def evidence(parts: Sequence[Part], *, reader: Reader, tools: Tools) -> dict[str, Any]:
    """The data of `/rag/eval` but for its latency.

    Paragraphs come sub-question by sub-question, best first within each, so with several of them the documents
    are not in order of score over all.
    """
    found = _distinct(parts)
    mcp = [part for part in parts if part.leaf and part.leaf.kind == "MCP"]
    return {
        "retrievedDocIds": list(dict.fromkeys(chunk.doc_id for chunk in found)),
        "retrievedChunkIds": [chunk.chunk_id for chunk in found],
        "retrievedContexts": [chunk.text for chunk in found],
        "retrievedContextDocIds": [chunk.doc_id for chunk in found],
        "subIntents": [part.question for part in parts],
        "intentLeafIds": [part.leaf.intent_l2 if part.leaf else None for part in parts],
        "mcpContext": "\n".join(text for part in mcp for text in _looked_up(part, reader, tools)),
        "hasMcp": bool(mcp),
        "hasKb": bool(found),
    }


def sources(hits: Sequence[Hit]) -> list[dict[str, Any]]:
    """The documents of an answer, best first, as `finish` lists them."""
    return [
        {
            "index": place,
            "docId": number(hit.chunk.doc_id),
            "docName": f"{hit.chunk.doc_id}.md",
            "sourceType": "file",
            "fileType": "md",
            "excerpt": hit.chunk.text[:_EXCERPT],
        }
        for place, hit in enumerate(by_document(hits), 1)
    ]


def tree(knowledge: Knowledge) -> list[dict[str, Any]]:
    """The intent tree: a domain for each first level, its leaves as children."""
    leaves = sorted(knowledge.leaves, key=lambda leaf: leaf.intent_l1)
    roots = []
    for domain, members in groupby(leaves, key=lambda leaf: leaf.intent_l1):
        children = [_leaf(leaf, knowledge) for leaf in members]
        roots.append(_node(domain, name=domain, level=0, parentCode=None, children=children))
    return roots


def _distinct(parts: Sequence[Part]) -> list[Chunk]:
    chunks = [hit.chunk for part in parts for hit in part.hits]
    return list({chunk.chunk_id: chunk for chunk in chunks}.values())


def _looked_up(part: Part, reader: Reader, tools: Tools) -> Iterator[str]:
    """What the order tool says of an order that the question names; nothing else can be known in one turn."""
    order = reader.read(part.question, ("order_id",))
    if part.leaf and part.leaf.task in _LOOKUPS and order:
        call = tools.call("get_order", **order)
        yield str(call.error) if call.error else json.dumps(call.result, ensure_ascii=False)


def _leaf(leaf: Leaf, knowledge: Knowledge) -> dict[str, Any]:
    said = [utterance.text for utterance in knowledge.utterances if utterance.intent == leaf.intent_l2]
    return _node(
        leaf.intent_l2,
        name=leaf.name,
        level=1,
        parentCode=leaf.intent_l1,
        kind=_KINDS[leaf.kind],
        description=leaf.description,
        examples=json.dumps(said[:_EXAMPLES], ensure_ascii=False),
        collectionNames=["xinghe"] if leaf.kind == "KB" else None,
        topK=LIMIT if leaf.kind == "KB" else None,
        mcpToolId=leaf.task,
        children=[],
    )


def _node(code: str, **fields: Any) -> dict[str, Any]:
    """A node of the tree with all of its fields, null where they were not given."""
    empty = dict.fromkeys(("kind", "description", "examples", "collectionNames", "topK", "mcpToolId"))
    return {"id": number(code), "intentCode": code, **empty, **fields, "enabled": 1}
