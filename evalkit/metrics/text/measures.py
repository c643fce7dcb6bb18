"""How alike an answer and its reference are, for a batch of pairs at once.

Each measure takes pairs (answer, reference) and gives (pairs,) float64 from 0 to 1, or NaN where the reference has
no token that could be found again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import LCSseq, Levenshtein

from evalkit.metrics.text.ngrams import Overlap, overlap
from evalkit.metrics.text.tokens import CHAR, CHINESE, Tokenizer, Tokens

__all__ = ["Pairs", "bleu_zh", "chrf", "edit_similarity", "rouge_l"]

Pairs: TypeAlias = Sequence[tuple[str, str]]
_Values: TypeAlias = NDArray[np.float64]

_BATCH = 12_000
"""Characters that are worked on at once: arrays of that size stay in the cache."""


def rouge_l(pairs: Pairs, *, tokenizer: Tokenizer) -> _Values:
    """F1 of the longest common subsequence of tokens, as in the package rouge-score (ROUGE-L, Lin 2004).

    Precision and recall weigh the same (β is 1; Lin's own script used 1.2). Line breaks do not matter: it is not
    `rougeLsum`.
    """
    return _batched(pairs, tokenizer, _lcs_f1)


def _lcs_f1(tokens: Tokens) -> _Values:
    lists = tokens.lists()
    common = np.array(
        [LCSseq.similarity(*pair) for pair in zip(lists[::2], lists[1::2], strict=True)], dtype=np.float64
    )
    made, wanted = tokens.sizes[::2], tokens.sizes[1::2]
    precision, recall = common / np.maximum(made, 1), common / np.maximum(wanted, 1)
    f1 = 2 * precision * recall / np.where(common > 0, precision + recall, 1)
    return np.where(wanted > 0, f1, np.nan)


def chrf(pairs: Pairs) -> _Values:
    """F2 of the mean precision and recall of n-grams of 1 to 6 characters, without white space (Popović 2015).

    sacrebleu's chrF2 with its defaults, divided by 100. Orders that are longer than either text are left out.
    """
    return _batched(pairs, CHAR, lambda tokens: _chrf(overlap(tokens, 6)))


def _chrf(found: Overlap) -> _Values:
    told = (found.first > 0) & (found.second > 0)
    orders = np.maximum(told.sum(axis=0), 1)
    precision = (np.where(told, found.both, 0) / np.maximum(found.first, 1)).sum(axis=0) / orders
    recall = (np.where(told, found.both, 0) / np.maximum(found.second, 1)).sum(axis=0) / orders
    weighed = 4 * precision + recall
    f2 = 5 * precision * recall / np.where(weighed > 0, weighed, 1)
    return np.where(found.second[0] > 0, f2, np.nan)


def bleu_zh(pairs: Pairs) -> _Values:
    """BLEU of one sentence over n-grams of 1 to 4 tokens, each Chinese character one (Papineni et al. 2002).

    sacrebleu's `sentence_bleu` with `tokenize="zh"`, divided by 100: exponential smoothing, and orders that are
    longer than the answer left out. Its signature: `nrefs:1|case:mixed|eff:yes|tok:zh|smooth:exp`.
    """
    return _batched(pairs, CHINESE, lambda tokens: _bleu(overlap(tokens, 4)))


def _bleu(found: Overlap) -> _Values:
    counts = zip(found.first.T.tolist(), found.second[0].tolist(), found.both.T.tolist(), strict=True)
    return np.array([_sentence_bleu(*pair) for pair in counts], dtype=np.float64)


def _sentence_bleu(made: list[int], wanted: int, matched: list[int]) -> float:
    """From the n-grams made and matched by order, and the tokens wanted."""
    if not wanted:
        return math.nan
    if not any(matched):
        return 0.0
    logs, smooth = [], 1
    for total, right in zip(made, matched, strict=True):
        if total and not right:
            smooth *= 2
        if total:
            logs.append(math.log(100.0 * right / total if right else 100.0 / (smooth * total)))
    brevity = math.exp(1 - wanted / made[0]) if made[0] < wanted else 1.0
    return brevity * math.exp(sum(logs) / len(logs)) / 100


def edit_similarity(pairs: Pairs) -> _Values:
    """1 − Levenshtein distance ÷ length of the longer text, in characters; two empty texts are alike."""
    return np.array([Levenshtein.normalized_similarity(*pair) for pair in pairs], dtype=np.float64)


def _batched(pairs: Pairs, tokenizer: Tokenizer, measure: Callable[[Tokens], _Values]) -> _Values:
    """The measure over batches of about the same number of characters."""
    batches = [measure(tokenizer([text for pair in batch for text in pair])) for batch in _batches(pairs)]
    return np.concatenate(batches) if batches else np.zeros(0)


def _batches(pairs: Pairs) -> Iterator[Pairs]:
    begin = size = 0
    for place, (answer, reference) in enumerate(pairs):
        size += len(answer) + len(reference)
        if size >= _BATCH:
            yield pairs[begin : place + 1]
            begin, size = place + 1, 0
    if begin < len(pairs):
        yield pairs[begin:]
