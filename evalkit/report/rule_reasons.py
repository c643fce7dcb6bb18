"""What to say where the rules of a record do not hold: which rule, what it found, what it wanted.

The record's own decision tells whether there is a reason at all; the verdicts that decided so are the reasons.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.contracts import EvalRecord, RuleSpec, Verdict
from evalkit.engines.rules import rules_of
from evalkit.report.reasons import Gate, Reason
from evalkit.rules.logic import named

__all__ = ["rule_reasons"]

_GATES: dict[str | None, Gate] = {"intent": "intent", "completion": "completion"}
_LONGEST = 200


def rule_reasons(record: EvalRecord) -> Iterator[Reason]:
    """A reason for each failed verdict that decided against the record; none where the rules hold or are undecided.

    The gate is the verdict's layer, else the answer. Where each rule holds and the weighed score is too low
    all of them are one reason.
    """
    if record.rules_passed is not False:
        return
    verdicts, specs = named(record.verdicts), _specs(record)
    deciding = record.rules_decided_by.split(", ")
    failed = [name for name, verdict in verdicts.items() if verdict.passed is False]
    charged = [name for name in failed if name in deciding] or failed
    yield from (_failed(name, verdicts[name], specs.get(name)) for name in charged)
    if not charged:
        yield _too_low(record, verdicts)


def _specs(record: EvalRecord) -> dict[str, RuleSpec]:
    """The rule of each verdict, where the two can be told to belong together: rules stand in their order."""
    rules = {name: [rule.spec for rule in rules_of(record) if rule.name == name] for name in _names(record)}
    return {
        name: rules[verdict.rule].pop(0)
        for name, verdict in named(record.verdicts).items()
        if rules[verdict.rule]
    }


def _names(record: EvalRecord) -> set[str]:
    return {verdict.rule for verdict in record.verdicts}


def _failed(name: str, verdict: Verdict, spec: RuleSpec | None) -> Reason:
    wanted = dict(spec.params) if spec else None
    found = {"rule": verdict.rule, "score": verdict.score, "reason": verdict.reason, "detail": verdict.detail}
    text = f"rule {name} failed: found: {verdict.reason or 'no reason given'}; wanted: {_shown(wanted)}"
    return Reason(_GATES.get(verdict.layer, "answer"), "rule_failed", text, wanted, found)


def _shown(params: Mapping[str, Any] | None) -> str:
    """The rule's parameters, short enough to be read; it holds by its own defaults where none are given."""
    if not params:
        return "that it holds"
    text = ", ".join(f"{name} {json.dumps(value, ensure_ascii=False)}" for name, value in params.items())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _too_low(record: EvalRecord, verdicts: dict[str, Verdict]) -> Reason:
    scores = {name: verdict.score for name, verdict in verdicts.items()}
    told = ", ".join(f"{name} {'none' if score is None else f'{score:g}'}" for name, score in scores.items())
    wanted = record.rule_pass_threshold
    text = f"the rules do not hold together: found: scores {told or 'none'}; wanted: {wanted} when weighed"
    return Reason("answer", "rules_too_low", text, wanted, scores)
