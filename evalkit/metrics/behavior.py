"""Did the system do the right kind of thing: look when it had to, keep quiet when not, and answer at all?

What a channel's failure hides is no behaviour; the failures are rates of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.errors import UsageError, shown
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["compute"]


def compute(
    records: RecordsLike, *, fallback_texts: Sequence[str] = ("未检索到与问题相关的文档内容",)
) -> list[MetricResult]:
    """Shares of samples in which the system misbehaved; lower is better in all of them.

    | name | is 1 where | counted |
    |---|---|---|
    | `refusal_when_required` | nothing was retrieved | needs retrieval, evidence ok |
    | `fallback_when_required` | the answer contains a fallback text | needs retrieval, answer ok |
    | `over_retrieval` | something was retrieved | needs no retrieval, evidence ok |
    | `answer_error_rate` | the answer channel is not ok | answer not skipped |
    | `evidence_error_rate` | the evidence channel is not ok | evidence not skipped |
    | `rejected_rate` | the answer channel was rejected | answer not skipped |
    | `retry_rate` | a channel was tried more than once | attempts were recorded |

    A retrieval or an answer that is null was not measured and does not count; nor does a case of which
    nobody says whether it needs retrieval. Without fallback texts `fallback_when_required` counts nothing.
    Raises UsageError for an empty fallback text, which every answer contains.
    """
    if not all(fallback_texts):
        raise UsageError(
            f"behavior: found fallback_texts = {shown(list(fallback_texts))}, wanted texts that say something."
        )
    table = Records.of(records)
    columns = [*_retrieval(table), _fallback(table, fallback_texts), *_channels(table), _retried(table)]
    return [
        MetricResult(
            name,
            *slice_mean(table, Scores.flags(holds, counted)),
            is_pct=True,
            is_rate=True,
            lower_is_better=True,
        )
        for name, holds, counted in columns
    ]


_Column = tuple[str, NDArray[np.bool_], NDArray[np.bool_]]


def _retrieval(table: Records) -> Iterator[_Column]:
    """Too little and too much retrieved."""
    (retrieved,) = table.lists("retrieved_doc_ids")
    something = np.diff(retrieved.offsets) > 0
    told = table.equals("evidence_status", "ok") & ~retrieved.missing
    needed = table.numbers("needs_retrieval")
    yield "refusal_when_required", ~something, told & (needed == 1)
    yield "over_retrieval", something, told & (needed == 0)


def _fallback(table: Records, texts: Sequence[str]) -> _Column:
    needed = table.numbers("needs_retrieval") == 1
    counted = table.told("response") & needed & table.equals("answer_status", "ok") & bool(texts)
    return "fallback_when_required", table.contains("response", texts), counted


def _channels(table: Records) -> Iterator[_Column]:
    """How the channels ended where they were asked."""
    answered, evident = (~table.equals(f"{channel}_status", "skipped") for channel in ("answer", "evidence"))
    yield "answer_error_rate", ~table.equals("answer_status", "ok"), answered
    yield "evidence_error_rate", ~table.equals("evidence_status", "ok"), evident
    yield "rejected_rate", table.equals("answer_status", "rejected"), answered


def _retried(table: Records) -> _Column:
    most = np.maximum(table.sizes("answer_attempts"), table.sizes("evidence_attempts"))
    return "retry_rate", most > 1, most > 0
