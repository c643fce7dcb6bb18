"""The nouns: what is asked (Case), what was seen (Observation), and both in one line (EvalRecord).

All are frozen and keep unknown fields, so that a file written by a newer evalkit, or by somebody else,
passes through unharmed. `null` means not given or not measured; an empty list or text means measured and
empty. Durations are milliseconds of a monotonic clock, times of day are UTC and only labels.
"""

from __future__ import annotations

from evalkit.contracts.asked import asked
from evalkit.contracts.case import Case, Expectation, Layer, RuleSpec, SlotSpec, StepSpec
from evalkit.contracts.observation import (
    AnswerStatus,
    Attempt,
    ChannelError,
    EvidenceStatus,
    Observation,
    Timings,
    Turn,
    Usage,
)
from evalkit.contracts.record import ClientDelays, EvalRecord, Manifest
from evalkit.contracts.result import Mean, MetricResult
from evalkit.contracts.values import ToolCall
from evalkit.contracts.verdict import Judgement, Outcome, Question, Scope, SuccessLevel, Verdict

__all__ = [
    "AnswerStatus",
    "Attempt",
    "Case",
    "ChannelError",
    "ClientDelays",
    "EvalRecord",
    "EvidenceStatus",
    "Expectation",
    "Judgement",
    "Layer",
    "Manifest",
    "Mean",
    "MetricResult",
    "Observation",
    "Outcome",
    "Question",
    "RuleSpec",
    "Scope",
    "SlotSpec",
    "StepSpec",
    "SuccessLevel",
    "Timings",
    "ToolCall",
    "Turn",
    "Usage",
    "Verdict",
    "asked",
]
