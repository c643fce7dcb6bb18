"""Known-bad behaviour on demand: switches that make the system fail in one way each.

A share is a share of the questions: a question is struck or not by its hash alone, so a run repeats.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from evalkit.errors import UnknownName, UsageError, shown

__all__ = ["Faults"]

ENVIRONMENT = "EVALKIT_DEMO_FAULTS"
"""Variable with faults as `name=value` pairs, separated by commas."""

_SHARES = (
    "cut", "drop_document", "fail_evidence", "hallucinate_tool", "over_retrieve", "reject", "slow", "wrong_intent",
)  # fmt: skip
_CHOICES = {"cut_as": ("abort", "end"), "fail_evidence_as": ("http", "envelope")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Which failures to produce, and for what share (0–1) of the questions; by default none.

    `slow_first_token_ms` delays the first event after `meta` for the share `slow`. `cut` ends the stream after
    `cut_after` tool events and deltas without a word: the connection breaks, or with `cut_as="end"` the
    response ends in good order but short. `reject` refuses as under load. `fail_evidence` fails `/rag/eval`: HTTP
    500, or with `fail_evidence_as="envelope"` code B000001 under HTTP 200. `wrong_intent` takes another leaf,
    `drop_document` loses the best document, `over_retrieve` searches for leaves that need no documents,
    `hallucinate_tool` claims the call of a tool that does not exist.
    """

    slow_first_token_ms: float = 0.0
    slow: float = 1.0
    cut: float = 0.0
    cut_after: int = 3
    cut_as: Literal["abort", "end"] = "abort"
    reject: float = 0.0
    fail_evidence: float = 0.0
    fail_evidence_as: Literal["http", "envelope"] = "http"
    wrong_intent: float = 0.0
    drop_document: float = 0.0
    over_retrieve: float = 0.0
    hallucinate_tool: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what cannot be: a share outside 0–1, a negative delay, an unknown way to fail."""
        wrong = [name for name in _SHARES if not 0 <= getattr(self, name) <= 1]
        if wrong:
            raise UsageError(
                f"fault {wrong[0]}: found {getattr(self, wrong[0])}, wanted a share from 0 to 1."
            )
        if self.slow_first_token_ms < 0 or self.cut_after < 0:
            raise UsageError("faults slow_first_token_ms and cut_after: wanted 0 or more.")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"fault {name}: found {shown(getattr(self, name))}, wanted {' or '.join(choices)}."
                )

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Faults:
        """Faults from plain values or their text; UnknownName lists the names, UsageError the wanted kind."""
        known = {field.name: type(field.default) for field in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise UnknownName("fault", name, known)
        return cls(**{name: _value(name, value, known[name]) for name, value in values.items()})

    @classmethod
    def parsed(cls, pairs: Iterable[str]) -> Faults:
        """Faults from `name=value` texts, each perhaps several separated by commas."""
        parts = [part.strip() for pair in pairs for part in pair.split(",") if part.strip()]
        return cls.of(
            {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in parts)}
        )

    @classmethod
    def switched_on(cls, pairs: Iterable[str]) -> Faults:
        """Faults from the environment (`ENVIRONMENT`) and from `pairs`, which go before it."""
        return cls.parsed([os.environ.get(ENVIRONMENT, ""), *pairs])

    def strikes(self, name: str, question: str) -> bool:
        """Whether the fault of that name befalls `question`."""
        share = float(getattr(self, name))
        digest = hashlib.sha256(f"{name}\n{question.strip()}".encode()).digest()
        return int.from_bytes(digest[:8], "big") < share * 2**64


_KINDS = {int: "a whole number", float: "a number", str: "text"}


def _value(name: str, value: Any, kind: type) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise UsageError(f"fault {name}: found {shown(value)}, wanted {_KINDS[kind]}.") from None
