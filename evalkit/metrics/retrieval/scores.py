"""Retrieval scores: short reductions over the places of the wanted documents, for one record of each kind."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.errors import UsageError
from evalkit.metrics.retrieval.chunks import ChunkRule, lifted
from evalkit.metrics.retrieval.finding import Found, found
from evalkit.metrics.retrieval.kinds import Ranks, kinds
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["compute"]

_PERCENT = {"hit", "recall", "recall_inclusive", "precision", "f1"}
_RATES = {"precision@1", "mrr@1", "ndcg@1"}
"""Of the metrics that are no rates, those which score nothing but 0 and 1 at the first place."""


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
    """Each metric's name and scores: one for each kind of record, as few as there are."""
    by_must, by_either = _found(table, depth=max(cutoffs, default=0))
    of_must, (must,) = kinds(by_must)
    of_either, (either,) = (of_must, (must,)) if by_either is by_must else kinds(by_either)
    of_both, (low, high) = kinds(by_must, by_either) if graded else (of_must, (must, either))
    counted = must.wanted > 0
    for k in cutoffs:
        for name, values in _at(must, k).items():
            yield f"{name}@{k}", Scores(values, counted, of_must)
        yield f"recall_inclusive@{k}", Scores(_recall(either, k), either.wanted > 0, of_either)
        if graded:
            gain = (_gain(low, k) + _gain(high, k)) / (_ideal(low, k) + _ideal(high, k))
            yield f"ndcg_graded@{k}", Scores(gain, low.wanted > 0, of_both)
    precision = must.found / np.maximum(must.retrieved, 1)
    yield "precision", Scores(precision, counted & (must.retrieved > 0), of_must)
    yield "f1", Scores(2 * must.found / np.maximum(must.retrieved + must.wanted, 1), counted, of_must)


def _found(table: Records, *, depth: int) -> tuple[Found, Found]:
    """Where the documents of must, and of must and nice together, stand; nowhere where nothing was measured."""
    retrieved, must, nice = table.lists("retrieved_doc_ids", "reference_doc_ids", "reference_doc_ids_nice")
    needed = table.numbers("needs_retrieval") == 1
    rows = np.flatnonzero(needed & table.equals("evidence_status", "ok") & ~retrieved.missing)
    if not len(nice.codes):
        (one,) = found(retrieved, [[must]], rows=rows, depth=depth)
        return one, one
    both = found(retrieved, [[must], [must, nice]], rows=rows, depth=depth)
    return both[0], both[1]


def _at(must: Ranks, k: int) -> dict[str, NDArray[np.float64]]:
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


def _summed(ranks: Ranks, k: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights of the documents found in the top k, summed in each record from the top down."""
    top = ranks.places <= k
    return np.bincount(ranks.kinds[top], weights=weights[top], minlength=len(ranks.wanted)).astype(np.float64)


def _hits(ranks: Ranks, k: int) -> NDArray[np.float64]:
    """How many documents were found in the top k."""
    return _summed(ranks, k, np.ones(len(ranks.kinds)))


def _recall(ranks: Ranks, k: int) -> NDArray[np.float64]:
    return _hits(ranks, k) / np.maximum(ranks.wanted, 1)


def _gain(ranks: Ranks, k: int) -> NDArray[np.float64]:
    """The discounted gain of the documents found in the top k."""
    return _summed(ranks, k, _discounts(k)[np.minimum(ranks.places, k)])


def _ideal(ranks: Ranks, k: int) -> NDArray[np.float64]:
    """The discounted gain when the wanted documents come first; that of one where none is wanted."""
    best = np.cumsum(_discounts(k))
    return best[np.clip(ranks.wanted, 1, k)]


def _discounts(k: int) -> NDArray[np.float64]:
    """What a document at each place gains, 1 / log2(place + 1); at 0 stands 0."""
    return np.array([0.0, *(1 / math.log2(place + 1) for place in range(1, k + 1))])
