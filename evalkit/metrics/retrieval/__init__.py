"""Were the right documents found, and how far up? At the level of documents, not of chunks.

The order given is the ranking; of an id that comes twice the first place counts. The scores of a record depend
on few numbers: at which places its documents stand, how many were wanted, how many came back. Records in which
these agree are of one kind, and only one record of each kind is scored.
"""

from __future__ import annotations

from evalkit.metrics.retrieval.chunks import ChunkRule, chunk_doc_ids, duplicate_ids, lifted
from evalkit.metrics.retrieval.scores import compute

__all__ = ["ChunkRule", "chunk_doc_ids", "compute", "duplicate_ids", "lifted"]
