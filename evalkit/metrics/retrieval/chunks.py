"""From chunks to documents, for targets that tell only which pieces they retrieved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evalkit.contracts import EvalRecord
from evalkit.errors import UsageError, shown
from evalkit.records import Records, RecordsLike

__all__ = ["ChunkRule", "chunk_doc_ids", "duplicate_ids", "lifted"]

ChunkRule: TypeAlias = Mapping[str, str] | str
"""How a chunk's id tells its document: a mapping, or a regular expression whose first group (or whole
match, if it has none) is the document id."""


def duplicate_ids(records: RecordsLike) -> int:
    """How many retrieved ids repeat an earlier one of their record; the first place of each id counts."""
    (retrieved,) = Records.of(records).lists("retrieved_doc_ids")
    return int(np.count_nonzero(retrieved.codes >= 0)) - len(retrieved.ranked().rows)


def lifted(records: RecordsLike, *, rule: ChunkRule) -> Records:
    """The records, with `retrieved_doc_ids` from the chunks' ids where only those were told."""
    table = Records.of(records)
    rows = [_lifted(record, rule) for record in table]
    return Records(rows, superseded=table.superseded, torn=table.torn)


def _lifted(record: EvalRecord, rule: ChunkRule) -> EvalRecord:
    if record.retrieved_doc_ids is not None or record.retrieved_chunk_ids is None:
        return record
    documents = chunk_doc_ids(record.retrieved_chunk_ids, rule=rule)
    return record.model_copy(update={"retrieved_doc_ids": documents})


def chunk_doc_ids(chunk_ids: Sequence[str], *, rule: ChunkRule) -> tuple[str, ...]:
    """The documents of the chunks, each where its first chunk stands: a value for `retrieved_doc_ids`.

    A chunk that the rule does not know keeps its place under its own id. Raises UsageError for a `rule` that
    is no regular expression.
    """
    if isinstance(rule, Mapping):
        return tuple(dict.fromkeys(rule.get(chunk, chunk) for chunk in chunk_ids))
    try:
        pattern = re.compile(rule)
    except re.error as error:
        raise UsageError(
            f"doc_id_from_chunk: found {shown(rule)} ({error}), wanted a regular expression or a mapping."
        ) from None
    return tuple(dict.fromkeys(_document(pattern, chunk) for chunk in chunk_ids))


def _document(pattern: re.Pattern[str], chunk: str) -> str:
    match = pattern.search(chunk)
    return (match[min(pattern.groups, 1)] if match else None) or chunk
