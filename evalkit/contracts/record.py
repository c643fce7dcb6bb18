"""The case and what happened to it in one line, and what is known of a run beside its lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from evalkit.contracts.case import Case
from evalkit.contracts.observation import Observation
from evalkit.contracts.values import Frozen, Milliseconds, NullAsEmpty, NullAsNoKeys
from evalkit.contracts.verdict import Judgement, Verdict

__all__ = ["ClientDelays", "EvalRecord", "Manifest", "sample_key"]

Settings = Annotated[dict[str, JsonValue], NullAsNoKeys]


_LIKE_A_REPEAT = re.compile(r"#[0-9]+\Z")


def sample_key(sample_id: str, repeat: int) -> str:
    """The pair as one text that no other pair has: `#n` after the id for the n-th repeat.

    The 0-th has its `#0` only where the id itself ends like a repeat: `a#1` is the repeat 1 of `a`, `a#1#0` the
    sample `a#1`.
    """
    return f"{sample_id}#{repeat}" if repeat or _LIKE_A_REPEAT.search(sample_id) else sample_id


class EvalRecord(Observation, Case):
    """What happened when a case was run: the case and its observation in one line of a run."""

    run_id: str | None = None
    """The run that the record belongs to."""
    repeat: int = Field(default=0, ge=0)
    """Which repeat of the case this is, from 0."""
    started_at: datetime | None = None
    """When the case was begun, in UTC."""
    scheduled_at: datetime | None = None
    """When the case was due under a rate, in UTC; null without a rate."""
    verdicts: Annotated[tuple[Verdict, ...], NullAsEmpty] = ()
    """What the rules say of it; empty where none was asked."""
    rules_passed: bool | None = None
    """Whether the rules hold in all, by the case's logic; null: undecided, or none was asked."""
    rules_decided_by: str = ""
    """The verdicts that decided so, or that left it undecided."""
    judgements: Annotated[dict[str, Judgement], NullAsNoKeys] = Field(default_factory=dict)
    """What a judge says of it, by the name of the question."""

    @model_validator(mode="before")
    @classmethod
    def _first_prediction(cls, data: Any) -> Any:
        """Fill `intent_pred` with the first non-empty of `intent_pred_all` where only that was given."""
        if not isinstance(data, Mapping) or data.get("intent_pred"):
            return data
        intents = data.get("intent_pred_all")
        first = next(filter(None, intents), None) if isinstance(intents, (list, tuple)) else None
        return data if first is None else {**data, "intent_pred": first}

    @property
    def key(self) -> str:
        """The sample's identity within a run: `sample_id`, with `#n` for the n-th repeat."""
        return sample_key(self.sample_id, self.repeat)


class ClientDelays(Frozen):
    """How late the client read beats whose moments it knew, while it asked."""

    beats: int = 0
    """How many beats were read."""
    p50_ms: Milliseconds | None = None
    """The median delay of a beat."""
    p99_ms: Milliseconds | None = None
    """The delay that 99 of 100 beats did not exceed."""
    max_ms: Milliseconds | None = None
    """The longest delay of a beat."""
    loop_p99_ms: Milliseconds | None = None
    """How late the event loop's own timer was, at most in 99 of 100 turns."""


class Manifest(Frozen):
    """What is known of a run beside its records: `runs/<run_id>.meta.json`."""

    run_id: str
    """The run's name."""
    state: Literal["running", "complete", "interrupted"] = "running"
    """Whether the run is under way, ended, or was stopped before its end."""
    eval_set: str
    """The path of the eval set, as it was given."""
    eval_set_sha256: str
    """The SHA-256 of the eval set's bytes, in hexadecimal digits."""
    target: str
    """The name of the target."""
    target_config: Settings = Field(default_factory=dict)
    """The target's configuration, as far as it is public: never a secret."""
    intent_parents: dict[str, str] = Field(default_factory=dict)
    """The first-level label of each second-level label, as the taxonomy had it; empty without a taxonomy."""
    evalkit_version: str
    """The version of evalkit that made the run."""
    started_at: datetime
    """When the run was begun, in UTC."""
    finished_at: datetime | None = None
    """When the run ended, in UTC."""
    cases: int = 0
    """Cases in the eval set."""
    planned: int = 0
    """Records wanted: the selected cases, times the repeats."""
    recorded: int = 0
    """Records on file."""
    answer_ok: int = 0
    """Records whose answer channel ended well."""
    evidence_ok: int = 0
    """Records whose evidence channel ended well."""
    selection: Settings = Field(default_factory=dict)
    """Which cases were selected: limit, start, filter, repeat."""
    settings: Settings = Field(default_factory=dict)
    """How the run was made: concurrency, rate, deadlines, retries."""
    client_saturated: bool | None = None
    """Whether the client was too busy to trust its stamps; null where the run was too short to tell."""
    client_delays: ClientDelays | None = None
    """What the client measured of its own delays; null where nothing was."""

    @property
    def is_replay(self) -> bool:
        """Whether the run was made from another one's capture, so that nobody was asked."""
        return "replay_of" in self.settings
