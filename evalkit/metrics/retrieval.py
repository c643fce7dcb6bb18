"""Were the right documents found, and how far up? At the level of documents, not of chunks.

The order given is the ranking; of an id that comes twice the first place counts. Everything here is a short
reduction of one table: the rank of each reference document in each record, found once a call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord, MetricResult
from evalkit.errors import UsageError
from evalkit.records import Lists, Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["ChunkRule", "chunk_doc_ids", "compute", "duplicate_ids", "lifted"]

ChunkRule: TypeAlias = Mapping[str, str] | str
"""How a chunk's id tells its document: a mapping, or a regular expression whose first group (or whole
match, if it has none) is the document id."""

_PERCENT = {"hit", "recall", "recall_inclusive", "precision", "f1"}
_RATES = {"precision@1", "mrr@1", "ndcg@1"}
"""Of the metrics that are no rates, those which score nothing but 0 and 1 at the first place."""


class _Ranks(NamedTuple):
    """Where the reference documents stand: found document j is in row `rows[j]` at `places[j]`, from 1.

    `nth[j]` says that it is the n-th found in its row. `wanted` and `retrieved` (n,) count distinct ids.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    nth: NDArray[np.int64]
    wanted: NDArray[np.int64]
    retrieved: NDArray[np.int64]


def compute(
    records: RecordsLike,
    *,
    cutoffs: Sequence[int] = (1, 3, 5, 10),
    graded: bool = False,
    doc_id_from_chunk: ChunkRule | None = None,
) -> list[MetricResult]:
    """Retrieval quality: seven metrics at each cut-off k, then two over everything retrieved.

    With `must` the set `reference_doc_ids` and `top` the first k distinct ids of `retrieved_doc_ids`:

    - `hit@k`: any of must in top (TREC: Success@k)
    - `recall@k`: share of must in top; `recall_inclusive@k`: share of must and nice together
    - `precision@k`: must in top / k, also where fewer than k came back (TREC; others divide by what came)
    - `mrr@k`: 1 / rank of the first of must, 0 beyond k
    - `map@k`: sum of the precisions at each of must in top / |must| (TREC; ragas divides by those found)
    - `ndcg@k`: linear gain, discount log2(rank + 1), ideal over min(|must|, k) documents
    - `precision`, `f1`: must retrieved / retrieved, and its harmonic mean with the recall over all retrieved

    Counted: the case needs retrieval, must is not empty (must or nice for `recall_inclusive`), the evidence
    channel is ok and told its documents. An empty retrieval counts, and is 0; only `precision` is null there.
    `graded` adds `ndcg_graded@k`, where must gains 2 and nice 1. `doc_id_from_chunk` lifts chunks first, as
    `lifted` does. Raises UsageError for a cut-off below 1 or named twice.
    """
    if any(k < 1 for k in cutoffs) or len(set(cutoffs)) < len(cutoffs):
        raise UsageError(
            f"retrieval: found cutoffs = {list(cutoffs)}, wanted different whole numbers from 1."
        )
    table = Records.of(records) if doc_id_from_chunk is None else lifted(records, rule=doc_id_from_chunk)
    return [
        MetricResult(
            name,
            *slice_mean(table, scores),
            is_pct=name.partition("@")[0] in _PERCENT,
            is_rate=name.startswith("hit@") or name in _RATES,
        )
        for name, scores in _columns(table, cutoffs, graded=graded)
    ]


def _columns(table: Records, cutoffs: Sequence[int], *, graded: bool) -> Iterator[tuple[str, Scores]]:
    """Each metric's name and scores."""
    must = _ranks(table, "reference_doc_ids")
    either = _ranks(table, "reference_doc_ids", "reference_doc_ids_nice")
    measured = _measured(table)
    counted = measured & (must.wanted > 0)
    for k in cutoffs:
        for name, values in _at(must, k).items():
            yield f"{name}@{k}", Scores(values, counted)
        yield f"recall_inclusive@{k}", Scores(_recall(either, k), measured & (either.wanted > 0))
        if graded:
            gain = _gain(must, k) + _gain(either, k)
            yield f"ndcg_graded@{k}", Scores(gain / (_ideal(must, k) + _ideal(either, k)), counted)
    found = _hits(must, None)
    yield "precision", Scores(found / np.maximum(must.retrieved, 1), counted & (must.retrieved > 0))
    yield "f1", Scores(2 * found / np.maximum(must.retrieved + must.wanted, 1), counted)


def _measured(table: Records) -> NDArray[np.bool_]:
    """Where a retrieval was needed and the evidence channel told what it was."""
    (retrieved,) = table.lists("retrieved_doc_ids")
    needed = table.numbers("needs_retrieval") == 1
    measured: NDArray[np.bool_] = needed & table.equals("evidence_status", "ok") & ~retrieved.missing
    return measured


def _ranks(table: Records, *gold: str) -> _Ranks:
    """The places of the documents named in any of the `gold` columns."""
    retrieved, *wanted = table.lists("retrieved_doc_ids", *gold)
    size, n = len(table.vocabulary) or 1, len(table)
    ranked = retrieved.ranked()
    keys = np.unique(np.concatenate([_keys(lists, size) for lists in wanted]))
    found = np.isin(ranked.rows * size + ranked.codes, keys)
    rows = ranked.rows[found]
    return _Ranks(
        rows,
        ranked.ranks[found],
        np.arange(1, len(rows) + 1) - np.searchsorted(rows, rows),
        np.bincount(keys // size, minlength=n),
        np.bincount(ranked.rows, minlength=n),
    )


def _keys(lists: Lists, size: int) -> NDArray[np.int64]:
    """One number for each distinct pair of row and document."""
    ranked = lists.ranked()
    return ranked.rows * size + ranked.codes


def _at(must: _Ranks, k: int) -> dict[str, NDArray[np.float64]]:
    """The metrics of one cut-off, (n,) each, meaningless where nothing is wanted."""
    hits = _hits(must, k)
    return {
        "hit": (hits > 0).astype(np.float64),
        "recall": _recall(must, k),
        "precision": hits / k,
        "mrr": _summed(must, k, np.where(must.nth == 1, 1 / must.places, 0.0)),
        "map": _summed(must, k, must.nth / must.places) / np.maximum(must.wanted, 1),
        "ndcg": _gain(must, k) / _ideal(must, k),
    }


def _summed(ranks: _Ranks, k: int | None, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of the documents found in the top k, summed in each record from the top down."""
    top = ranks.places <= (k or np.inf)
    rows, n = ranks.rows[top], len(ranks.wanted)
    return np.bincount(rows, weights=weights[top], minlength=n).astype(np.float64)


def _hits(ranks: _Ranks, k: int | None) -> NDArray[np.float64]:
    """How many documents were found in the top k, or at all."""
    return _summed(ranks, k, np.ones(len(ranks.rows)))


def _recall(ranks: _Ranks, k: int) -> NDArray[np.float64]:
    return _hits(ranks, k) / np.maximum(ranks.wanted, 1)


def _gain(ranks: _Ranks, k: int) -> NDArray[np.float64]:
    """The discounted gain of the documents found in the top k."""
    return _summed(ranks, k, _discounts(k)[np.minimum(ranks.places, k)])


def _ideal(ranks: _Ranks, k: int) -> NDArray[np.float64]:
    """The discounted gain when the wanted documents come first; that of one where none is wanted."""
    best = np.cumsum(_discounts(k))
    return best[np.clip(ranks.wanted, 1, k)]


def _discounts(k: int) -> NDArray[np.float64]:
    """What a document at each place gains, 1 / log2(place + 1); at 0 stands 0."""
    return np.array([0.0, *(1 / math.log2(place + 1) for place in range(1, k + 1))])


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
            f"doc_id_from_chunk: found {rule!r} ({error}), wanted a regular expression or a mapping."
        ) from None
    return tuple(dict.fromkeys(_document(pattern, chunk) for chunk in chunk_ids))


def _document(pattern: re.Pattern[str], chunk: str) -> str:
    match = pattern.search(chunk)
    return (match[min(pattern.groups, 1)] if match else None) or chunk
