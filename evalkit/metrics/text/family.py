"""Text metrics: the answer held against the reference answer, where a case has one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.errors import UnknownName, UsageError, shown
from evalkit.metrics.text.measures import Pairs, bleu_zh, chrf, edit_similarity, rouge_l
from evalkit.metrics.text.tokens import CHAR, MIXED
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["MEASURES", "NORMALIZERS", "Normalizer", "TokenizerName", "compute"]

Normalizer: TypeAlias = Literal["none", "nfc", "nfkc_casefold"]
TokenizerName: TypeAlias = Literal["mixed", "char"]

MEASURES = ("exact_match", "contains_reference", "edit_similarity", "rouge_l", "chrf", "bleu_zh")
"""All measures, in order."""


def _caseless(text: str) -> str:
    """Folded until nothing changes: folding the case may leave what NFKC would still change."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFKC", folded).strip()


NORMALIZERS: dict[Normalizer, Callable[[str], str]] = {
    "none": str,
    "nfc": partial(unicodedata.normalize, "NFC"),
    "nfkc_casefold": _caseless,
}
"""How texts are made alike before they are compared as a whole."""

_TOKENIZERS = {"mixed": MIXED, "char": CHAR}


def compute(
    records: RecordsLike,
    *,
    measures: Sequence[str] = MEASURES,
    tokenizer: TokenizerName = "mixed",
    normalizer: Normalizer = "nfkc_casefold",
) -> list[MetricResult]:
    """How alike the answer and the reference are, from 0 to 1; without `measures`: no result at all.

    - `exact_match`: equal, `contains_reference`: the reference stands in the answer, `edit_similarity`: 1 −
      Levenshtein distance ÷ length of the longer; all three under `normalizer`
    - `rouge_l_mixed`, or `rouge_l_char`: ROUGE-L's F1 over the tokens of `tokenizer`
    - `chrf`: chrF2, and `bleu_zh`: sentence BLEU with Chinese tokens, both sacrebleu's ÷ 100

    Counted: there is a reference that is not blank (for ROUGE-L: one with a token), the answer is ok and was told.
    Raises UnknownName for another measure, UsageError for one named twice.
    """
    _require(measures)
    table = Records.of(records)
    answers, references = table.column("response"), table.column("reference")
    told = [bool(reference and reference.strip()) for reference in references]
    given = np.array([answer is not None for answer in answers], dtype=np.bool_)
    counted = given & np.array(told, dtype=np.bool_) & table.equals("answer_status", "ok")
    pairs = [(answers[row], references[row]) for row in np.flatnonzero(counted).tolist()]
    scored = _scored(pairs, measures, tokenizer=tokenizer, normalizer=normalizer)
    return [_result(table, name, counted, values) for name, values in scored]


def _require(measures: Sequence[str]) -> None:
    for measure in measures:
        if measure not in MEASURES:
            raise UnknownName("text measure", str(measure), MEASURES)
    if len(set(measures)) < len(measures):
        raise UsageError(f"text: found measures = {shown(list(measures))}, wanted each name once.")


def _scored(
    pairs: Pairs, measures: Sequence[str], *, tokenizer: TokenizerName, normalizer: Normalizer
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """The scores of the pairs by each measure, with its full name."""
    normal = NORMALIZERS[normalizer]
    wholes = [
        (normal(answer), normal(reference)) for answer, reference in pairs if set(measures) & set(_WHOLE)
    ]
    for measure in measures:
        if measure in _WHOLE:
            yield measure, _WHOLE[measure](wholes)
        elif measure in _BY_N_GRAMS:
            yield measure, _BY_N_GRAMS[measure](pairs)
        else:
            yield f"{measure}_{tokenizer}", rouge_l(pairs, tokenizer=_TOKENIZERS[tokenizer])


def _equal(pairs: Pairs) -> NDArray[np.float64]:
    return np.array([answer == reference for answer, reference in pairs], dtype=np.float64)


def _contains(pairs: Pairs) -> NDArray[np.float64]:
    return np.array([reference in answer for answer, reference in pairs], dtype=np.float64)


_WHOLE = {"exact_match": _equal, "contains_reference": _contains, "edit_similarity": edit_similarity}
_BY_N_GRAMS = {"chrf": chrf, "bleu_zh": bleu_zh}


def _result(
    table: Records, name: str, counted: NDArray[np.bool_], scores: NDArray[np.float64]
) -> MetricResult:
    values = np.full(len(table), np.nan)
    values[counted] = scores
    means = slice_mean(table, Scores(values, ~np.isnan(values)))
    return MetricResult(name, *means, is_pct=True, is_rate=name in _RATES)


_RATES = {"exact_match", "contains_reference"}
