"""How the channels of a run went: samples by status, errors by kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

__all__ = ["CHANNELS", "Channel", "channels"]

CHANNELS = ("answer", "evidence")


@dataclass(frozen=True, slots=True)
class Channel:
    """How one channel of a run went: samples by status, errors by kind, samples asked more than once."""

    name: str
    statuses: Mapping[str, int]
    errors: Mapping[str, int]
    retried: int

    @property
    def asked(self) -> int:
        """The samples for which the channel was asked at all."""
        return sum(n for status, n in self.statuses.items() if status != "skipped")

    def plus(self, other: Channel) -> Channel:
        """The channel with what came later, each status and kind in order of first appearance."""
        pairs = ((self.statuses, other.statuses), (self.errors, other.errors))
        statuses, errors = (Counter(first) + Counter(second) for first, second in pairs)
        return Channel(self.name, statuses, errors, self.retried + other.retried)

    def ranked(self) -> Channel:
        """The same, the most frequent statuses and kinds first."""
        statuses, errors = (dict(Counter(n).most_common()) for n in (self.statuses, self.errors))
        return Channel(self.name, statuses, errors, self.retried)


def channels(samples: pa.Table) -> tuple[Channel, ...]:
    """The answer channel and the evidence channel of some samples, in order of first appearance."""
    return tuple(_channel(samples, name) for name in CHANNELS)


def _channel(samples: pa.Table, name: str) -> Channel:
    statuses, errors, retries = (
        samples[f"{name}_{what}"].to_pylist() for what in ("status", "error", "retries")
    )
    told = Counter(kind for kind in errors if kind is not None)
    return Channel(name, Counter(map(str, statuses)), told, sum(1 for n in retries if n))
