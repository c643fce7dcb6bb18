"""Each latency, where it counts, and where a deadline cut it off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import MetricResult
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, slice_mean

__all__ = ["LATENCIES", "compute", "observations"]

_Column = NDArray[np.float64]
_Mask = NDArray[np.bool_]

LATENCIES = (
    "ttft_ms",
    "first_event_ms",
    "total_ms",
    "icl_ms",
    "tpot_ms",
    "evidence_ms",
    "ttft_from_schedule_ms",
    "total_from_schedule_ms",
)
"""All latencies of a distribution, in order; the last two are those of a run with a rate."""


def compute(records: RecordsLike) -> list[MetricResult]:
    """Mean latencies in ms; lower is better.

    - `ttft_ms`: first answer text; `first_event_ms`: first event of any kind; `total_ms`: end of the answer
    - `evidence_ms`: end of the evidence exchange
    - `icl_ms`: mean gap between pieces of answer text, (last - first) / (pieces - 1), two pieces at least
      (AIPerf: inter-chunk latency)
    - `tpot_ms`: time per output token after the first, (last text - first text or thought) / (tokens - 1),
      tokens as the server counted them, more than one, which did not all come at once (as vLLM); not of a
      dialog of several turns: its tokens are of all turns, its times of the last

    Counted: answer ok (evidence ok for `evidence_ms`) at the first try, not from a cache, the value told.
    """
    table = Records.of(records)
    return [
        MetricResult(name, *slice_mean(table, scores), lower_is_better=True)
        for name, scores in _columns(table).items()
    ]


def observations(records: RecordsLike) -> dict[str, tuple[_Column, _Column]]:
    """For each latency: what was counted, and when deadlines cut it off; NaN elsewhere, both (n,).

    Those from the schedule are there where a case was due at some moment.
    """
    table = Records.of(records)
    cuts, nowhere = _cuts(table), np.full(len(table), np.nan)
    return {
        name: (np.where(scores.counted, scores.values, np.nan), cuts.get(name, nowhere))
        for name, scores in (_columns(table) | _scheduled(table)).items()
    }


def _columns(table: Records) -> dict[str, Scores]:
    """Each latency and where it counts."""
    answered = table.equals("answer_status", "ok") & _first_try(table, "answer")
    columns = {name: Scores(values, answered & ~np.isnan(values)) for name, values in _answer(table).items()}
    evidence = table.numbers("evidence_timings.end_ms")
    known = table.equals("evidence_status", "ok") & _first_try(table, "evidence") & ~np.isnan(evidence)
    return columns | {"evidence_ms": Scores(evidence, known)}


def _first_try(table: Records, channel: str) -> _Mask:
    """Where the target answered, not a cache, and at the first try: any other latency is not what a user waits."""
    first: _Mask = ~_cached(table) & (table.sizes(f"{channel}_attempts") <= 1)
    return first


def _scheduled(table: Records) -> dict[str, Scores]:
    """Latencies from the moment a case was due, the waiting for a free place among them; none without a rate."""
    waited = _waited(table)
    if np.isnan(waited).all():
        return {}
    answered = table.equals("answer_status", "ok") & _first_try(table, "answer")
    found = {f"{name}_from_schedule_ms": table.numbers(f"{name}_ms") + waited for name in ("ttft", "total")}
    return {name: Scores(values, answered & ~np.isnan(values)) for name, values in found.items()}


def _waited(table: Records) -> _Column:
    """From the moment a case was due until its request left; NaN without one, and for dialogs.

    Of a dialog only the first turn was due, and its record has the times of the last.
    """
    due = table.told("scheduled_at") & _one_turn(table)
    queue, connect = (table.numbers(f"answer_timings.{name}_ms") for name in ("queue", "connect"))
    return np.where(due, queue + np.nan_to_num(connect), np.nan)


def _one_turn(table: Records) -> _Mask:
    few: _Mask = table.sizes("dialog") <= 1
    return few


def _cached(table: Records) -> _Mask:
    cached: _Mask = table.numbers("from_cache") == 1
    return cached


def _answer(table: Records) -> dict[str, _Column]:
    """The latencies of the answer channel, NaN where they are not known."""
    return {
        "ttft_ms": table.numbers("ttft_ms"),
        "first_event_ms": table.numbers("answer_timings.first_event_ms"),
        "total_ms": table.numbers("total_ms"),
        "icl_ms": _icl(table),
        "tpot_ms": _tpot(table),
    }


def _icl(table: Records) -> _Column:
    first, last = (table.numbers(f"answer_timings.{name}_text_ms") for name in ("first", "last"))
    pieces = table.numbers("answer_timings.text_chunks")
    return np.where(last >= first, last - first, np.nan) / np.where(pieces > 1, pieces - 1, np.nan)


def _tpot(table: Records) -> _Column:
    text, thought = (table.numbers(f"answer_timings.first_{name}_ms") for name in ("text", "reasoning"))
    span = table.numbers("answer_timings.last_text_ms") - np.fmin(text, thought)
    tokens = np.where(_one_turn(table), table.numbers("usage.completion_tokens"), np.nan)
    return np.where(span > 0, span, np.nan) / np.where(tokens > 1, tokens - 1, np.nan)


def _cuts(table: Records) -> dict[str, _Column]:
    """For each latency that is a moment: where a deadline came first, and when; elsewhere NaN."""
    answer, evidence, waited = _cut(table, "answer"), _cut(table, "evidence"), _waited(table)
    seen = {name: ~np.isnan(values) for name, values in _answer(table).items()}
    unseen = np.where(seen["ttft_ms"], np.nan, answer)
    return {
        "ttft_ms": unseen,
        "ttft_from_schedule_ms": unseen + waited,
        "total_from_schedule_ms": answer + waited,
        "first_event_ms": np.where(seen["first_event_ms"], np.nan, answer),
        "total_ms": answer,
        "evidence_ms": evidence,
    }


def _cut(table: Records, channel: str) -> _Column:
    """When the deadline ended the exchange of that channel, infinite where nobody says; NaN where it did not."""
    deadline = _deadline(table, channel) & ~table.equals(f"{channel}_status", "ok") & ~_cached(table)
    end = table.numbers(f"{channel}_timings.end_ms")
    if channel == "answer":
        end = np.where(np.isnan(end), table.numbers("total_ms"), end)
    return np.where(deadline, np.where(np.isnan(end), np.inf, end), np.nan)


def _deadline(table: Records, channel: str) -> _Mask:
    """Where the error of that channel is of a kind that a deadline made."""
    (codes,) = table.codes(f"{channel}_error.kind")
    found = np.unique(codes[codes >= 0]).tolist()
    texts = table.vocabulary if found else []
    return np.isin(codes, [code for code in found if texts[code].startswith("deadline")])
