"""The third layer: what counts as success, by three published policies, side by side with the plain rules."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evalkit.contracts import EvalRecord, MetricResult, Outcome, SuccessLevel
from evalkit.errors import UsageError
from evalkit.finding import Trust
from evalkit.metrics.outcome.layers import Layers, layers
from evalkit.records import Records, RecordsLike
from evalkit.slices import Scores, scores_of, slice_mean

__all__ = ["Levels", "compute", "levels", "outcomes", "spare", "succeeded"]

Floats = NDArray[np.float64]
_Policy = Callable[[Layers], Floats]

_SLACK = 1e-9
_HARD = {"keywords", "forbidden", "max_latency_ms", "should_succeed"}
"""What of an expectation fails a case without a judge."""

_ENDS = ("", "_worst", "_best")
_LEVELS: dict[float, SuccessLevel] = {0.0: "failure", 0.5: "partial", 1.0: "success"}


class _Column(NamedTuple):
    """A score (n,), NaN where unknown, and what it would be if all that is unknown were bad, or good."""

    value: Floats
    worst: Floats
    best: Floats


def compute(  # noqa: PLR0913 - the parameters of a metric are its configuration
    records: RecordsLike,
    *,
    success: float = 0.8,
    partial: float = 0.5,
    min_intent: float = 7.0,
    min_completion: float = 1.0,
    intent_weight: float = 0.4,
    completion_weight: float = 0.6,
    threshold: float | None = None,
    bounds: bool | None = None,
    trust: Trust = "report",
) -> list[MetricResult]:
    """What became of the tasks, by every policy, beside the plain rules.

    - `intent_accuracy`: tasks whose intent was understood / tasks
    - `avg_completion`: mean completion of the tasks
    - `success_rate` (graded): (success + 0.5 · partial) / tasks, where a task with the right intent is a success
      from the completion `success` on, and partial from `partial` on
    - `pass_rate` (graded): (success + partial) / tasks
    - `success_rate_binary`: tasks with an intent grade of `min_intent` of 10 and the completion
      `min_completion` / tasks
    - `success_score_weighted`: mean of `intent_weight` · intent grade / 10 + `completion_weight` · completion
    - `success_rate_weighted`: tasks whose weighted score reaches `threshold` / tasks, where one is given
    - `rule_pass_rate`: tasks whose rules hold, by their own logic / tasks with rules

    Counted: what is needed is known. Of what is not known of every task, `…_worst` and `…_best` say what it would
    be over all tasks if all that is unknown were bad, or good; `bounds` says that always, or never. `trust` is
    that of the metric `completion`. Comparisons have 1e-9 of slack. UsageError for thresholds
    out of order, and weights that do not sum to 1. Source: mission, functional completeness: first plan,
    sections 2.1 and 5 (binary, weighted), second plan, sections 4.2 and 4.3 (graded).
    """
    grade = _graded(success, partial)
    policies: dict[str, tuple[_Policy, bool]] = {
        "intent_accuracy": (lambda known: known.intent, True),
        "avg_completion": (lambda known: known.completion, False),
        "success_rate": (grade, False),
        "pass_rate": (lambda known: np.ceil(grade(known)), True),
        "success_rate_binary": (_binary(min_intent, min_completion), True),
        **_weighted(intent_weight, completion_weight, threshold),
    }
    table = Records.of(records)
    found = layers(table, trust=trust)
    columns = {name: (_over(found, policy), is_rate) for name, (policy, is_rate) in policies.items()}
    columns["rule_pass_rate"] = (_rules(table), True)
    return [
        result
        for name, (column, is_rate) in columns.items()
        for result in _results(table, name, column, bounds=bounds, is_rate=is_rate)
    ]


def spare(records: Records, results: Sequence[MetricResult]) -> frozenset[str]:
    """The bounds among the `results` of `compute` that it leaves out by itself: of each task the score is known."""
    counted = {result.name: scores_of(records, result).counted for result in results}
    known = (
        name
        for name, there in counted.items()
        if f"{name}_worst" in counted and not (counted[f"{name}_worst"] & ~there).any()
    )
    return frozenset(f"{name}{end}" for name in known for end in _ENDS[1:])


def succeeded(
    records: Records, *, success: float = 0.8, partial: float = 0.5, trust: Trust = "report"
) -> Floats:
    """1 for success, 0.5 for partial, 0 for failure by the policy `graded`, as (n,); NaN where unknown."""
    return _graded(success, partial)(layers(records, trust=trust))


class Levels(NamedTuple):
    """The third layer of each record: the level, and the least and the most that it can be; null where unknown."""

    level: list[SuccessLevel | None]
    least: list[SuccessLevel | None]
    most: list[SuccessLevel | None]


def levels(records: Records, results: Sequence[MetricResult]) -> Levels:
    """The levels that the `results` of `compute` tell; where they have no bounds, these are what is known."""
    found = {result.name: result for result in results}
    level, worst, best = (_scores(records, found.get(f"success_rate{end}")) for end in _ENDS)
    least, most = (np.where(np.isnan(bound), level, bound) for bound in (worst, best))
    return Levels(*([_level(score) for score in column.tolist()] for column in (level, least, most)))


def outcomes(records: RecordsLike, *, results: Sequence[MetricResult] | None = None) -> list[Outcome]:
    """What became of each record, as the `results` of `compute` say, else as its defaults say; null where unknown."""
    table = Records.of(records)
    told = compute(table) if results is None else results
    found, level = {result.name: result for result in told}, levels(table, told)
    intents, done = (
        _scores(table, found.get(name)).tolist() for name in ("intent_accuracy", "avg_completion")
    )
    return [
        Outcome(
            sample_id=record.sample_id,
            repeat=record.repeat,
            intent_passed=None if math.isnan(intents[row]) else bool(intents[row]),
            completion=None if math.isnan(done[row]) else done[row],
            success_level=level.level[row],
            success_least=level.least[row],
            success_most=level.most[row],
            passed=record.rules_passed,
            decided_by=record.rules_decided_by,
            verdicts=record.verdicts,
        )
        for row, record in enumerate(table)
    ]


def _scores(table: Records, result: MetricResult | None) -> Floats:
    """The scores of a result, NaN where there is none."""
    if result is None:
        return np.full(len(table), np.nan)
    scores = scores_of(table, result)
    return np.where(scores.counted, scores.values, np.nan)


def _level(score: float) -> SuccessLevel | None:
    return _LEVELS.get(score)


def _graded(success: float, partial: float) -> _Policy:
    if not 0 <= partial <= success <= 1:
        raise UsageError(
            f"outcome: found success {success} and partial {partial}, wanted 0 <= partial <= success <= 1."
        )

    def score(known: Layers) -> Floats:
        done = known.completion
        level = np.where(done >= success - _SLACK, 1.0, np.where(done >= partial - _SLACK, 0.5, 0.0))
        return _where_known(level * known.intent, known.intent, known.completion)

    return score


def _binary(min_intent: float, min_completion: float) -> _Policy:
    def score(known: Layers) -> Floats:
        enough = (known.intent_score * 10 >= min_intent - _SLACK) & (
            known.completion >= min_completion - _SLACK
        )
        return _where_known(enough.astype(np.float64), known.intent_score, known.completion)

    return score


def _weighted(intent: float, completion: float, threshold: float | None) -> dict[str, tuple[_Policy, bool]]:
    if not (min(intent, completion) >= 0 and abs(intent + completion - 1) <= _SLACK):
        raise UsageError(
            f"outcome: found intent_weight {intent} and completion_weight {completion}, "
            "wanted two numbers from 0 that sum to 1."
        )

    def score(known: Layers) -> Floats:
        return intent * known.intent_score + completion * known.completion

    if threshold is None:
        return {"success_score_weighted": (score, False)}
    least = threshold - _SLACK
    return {
        "success_score_weighted": (score, False),
        "success_rate_weighted": (
            lambda known: _where_known((score(known) >= least).astype(np.float64), score(known)),
            True,
        ),
    }


def _where_known(score: Floats, *needed: Floats) -> Floats:
    return np.where(np.isnan(needed).any(axis=0), np.nan, score)


def _over(found: Layers, score: _Policy) -> _Column:
    """The score of the layers, with its bounds over the tasks: it never falls where a layer rises."""
    worst, best = (np.where(found.task, score(found.if_unknown_were(value)), np.nan) for value in (0.0, 1.0))
    return _Column(score(found), worst, best)


def _rules(table: Records) -> _Column:
    passed = table.numbers("rules_passed")
    asked = table.given("verdicts") | table.given("rules")
    for row in np.flatnonzero(table.given("expectation") & ~asked).tolist():
        asked[row] = _is_hard(table[row])
    worst, best = (np.where(asked, np.where(np.isnan(passed), value, passed), np.nan) for value in (0.0, 1.0))
    return _Column(passed, worst, best)


def _is_hard(record: EvalRecord) -> bool:
    """Whether its expectation can fail it; what that describes in words does so only in a verdict."""
    wanted = record.expectation
    return bool(wanted and wanted.model_dump(include=_HARD, exclude_defaults=True))


def _results(
    table: Records, name: str, column: _Column, *, bounds: bool | None, is_rate: bool
) -> list[MetricResult]:
    unknown = bool((np.isnan(column.value) & ~np.isnan(column.worst)).any())
    ends = _ENDS if bounds or (bounds is None and unknown) else _ENDS[:1]
    return [
        MetricResult(
            f"{name}{end}",
            *slice_mean(table, Scores(values, ~np.isnan(values))),
            is_pct=True,
            is_rate=is_rate,
        )
        for end, values in zip(ends, column, strict=False)
    ]
