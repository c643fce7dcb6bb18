"""Did the answer come in time?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from evalkit.contracts import Case, EvalRecord, Turn, Verdict
from evalkit.rules.params import PositiveMs, reaches
from evalkit.rules.scope import ReplyScope, strongest

__all__ = ["response_time"]

_RULE = "response_time"


def response_time(
    case: Case,
    dialog: Sequence[Turn],
    *,
    max_latency_ms: PositiveMs,
    measure: Literal["latency_ms", "ttft_ms"] = "latency_ms",
    evaluation_scope: ReplyScope = "last_turn",
) -> Verdict:
    """Threshold ÷ latency, at most 1; it passes where the latency is at most `max_latency_ms`.

    `measure` is the time to the end of the reply, or to its first text. In the scope `full_dialog` the
    latencies of all turns are added up. A time that was not measured, or that a cache answered in, is
    undecided. Source: mission, rule `response_time`.
    """
    if isinstance(case, EvalRecord) and case.from_cache:
        return Verdict(rule=_RULE, passed=None, reason="the answer came from a cache", scope=evaluation_scope)
    turns = dialog[-1:] if evaluation_scope == "last_turn" else dialog
    times: list[float | None] = [getattr(turn, measure) for turn in turns]
    if evaluation_scope == "full_dialog":
        times = [None if None in times else sum(time for time in times if time is not None)]
    verdicts = [_timed(time, max_latency_ms, evaluation_scope) for time in times if dialog]
    return strongest(verdicts or [_timed(None, max_latency_ms, evaluation_scope)], evaluation_scope)


def _timed(time: float | None, limit: float, scope: ReplyScope) -> Verdict:
    if time is None:
        return Verdict(rule=_RULE, passed=None, reason="the time was not measured", scope=scope)
    return Verdict(
        rule=_RULE,
        passed=reaches(limit, time),
        score=min(1.0, limit / time) if time else 1.0,
        reason=f"took {time:g} ms of {limit:g} ms",
        scope=scope,
        detail={"latency_ms": time, "max_latency_ms": limit},
    )
