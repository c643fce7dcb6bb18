"""From failures to causes: what one change would mend together.

Each failed sample is shared out among the causes that its first reason names, in equal parts, so that the
causes of a run add up to its failures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evalkit.report.failures import Failure
from evalkit.report.reasons import Reason

__all__ = ["Cause", "Clues", "Facts", "causes", "first_causes", "is_spread", "of_intent"]

HUB = 3
"""An intent that takes samples of so many others, mostly of none of them, is too broad by itself."""

SPREAD = ("document_never_retrieved", "weak_retrieval", "empty_retrieval")
"""Causes that are one where they are spread evenly over many documents or intents."""

WRONG, MISSED = "wrong_intent", "documents_missed"
"""What a failure by itself tells no more of: the facts of the run say which cause it is."""


class Cause(NamedTuple):
    """What went wrong: a stable `kind`, and what it went wrong with: labels, documents, slots, tools."""

    kind: str
    subject: tuple[str, ...] = ()


_WEAK = Cause("weak_retrieval")
"""Of which intent, its sample tells."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What only the whole run tells: documents that no sample got, intents that go wrong both ways or swallow others."""

    never: frozenset[str]
    mutual: frozenset[tuple[str, str]]
    hubs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Clues:
    """What the facts of a run are made of, added up part by part: how often an intent was given in place of another
    as the first fault of a sample, the documents that samples need, and those that any got at any rank.
    """

    ways: Counter[tuple[str, str]]
    wanted: frozenset[str]
    got: frozenset[str]

    def plus(self, other: Clues) -> Clues:
        """These and those."""
        return Clues(self.ways + other.ways, self.wanted | other.wanted, self.got | other.got)

    @property
    def facts(self) -> Facts:
        """What they tell."""
        mutual = frozenset((gold, given) for gold, given in self.ways if (given, gold) in self.ways)
        return Facts(self.wanted - self.got, mutual, _hubs(self.ways))


def _hubs(ways: Mapping[tuple[str, str], int]) -> frozenset[str]:
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for (_, given), n in ways.items():
        taken[given].append(n)
    return frozenset(given for given, n in taken.items() if len(n) >= HUB and 2 * max(n) <= sum(n))


def is_spread(sizes: Sequence[int]) -> bool:
    """Whether causes of one kind, with so many samples each, come from one place: they are many and none stands out."""
    return len(sizes) >= HUB and HUB * max(sizes) <= sum(sizes)


def first_causes(failure: Failure) -> list[Cause]:
    """What the first reason of a failure names, each once; at least its own kind."""
    reason = failure.reasons[0]
    return [*dict.fromkeys(_named(reason, failure.record.intent_l2 or ""))] or [Cause(reason.kind)]


def _named(reason: Reason, label: str) -> Iterable[Cause]:
    if reason.gate == "channel":
        return [Cause("channel_error", (reason.kind.partition("_")[0], str(reason.found)))]
    if reason.gate == "retrieval" and reason.kind != "needless_retrieval":
        empty = reason.kind == "nothing_retrieved"
        return [Cause("empty_retrieval", (label,)) if empty else Cause(MISSED, (*reason.expected,))]
    rule = _RULES.get(reason.kind)
    return rule(reason) if rule else ()


def causes(firsts: Iterable[Cause], facts: Facts) -> tuple[Cause, ...]:
    """The causes of a failure, each once, from what it names first; those of its intent as `of_intent` finds them."""
    return tuple(dict.fromkeys(cause for first in firsts for cause in _resolved(first, facts)))


def of_intent(cause: Cause, label: str) -> Cause:
    """The cause of a failure of a sample with that intent."""
    return Cause(cause.kind, (label,)) if cause == _WEAK else cause


def _resolved(first: Cause, facts: Facts) -> Iterator[Cause]:
    if first.kind == WRONG:
        yield _intent(first.subject, facts)
    elif first.kind == MISSED:
        never = [Cause("document_never_retrieved", (doc,)) for doc in first.subject if doc in facts.never]
        yield from never or [_WEAK]
    else:
        yield first


def _intent(way: tuple[str, ...], facts: Facts) -> Cause:
    gold, given = way
    if given in facts.hubs:
        return Cause("broad_intent", (given,))
    if (gold, given) in facts.mutual:
        return Cause("intents_overlap", (min(gold, given), max(gold, given)))
    return Cause("intent_taken_for", (gold, given))


def _each(kind: str, names: Iterable[str]) -> list[Cause]:
    return [Cause(kind, (name,)) for name in names]


def _tools(reason: Reason) -> list[Cause]:
    wanted, made = Counter(reason.expected), Counter(reason.found)
    return [*_each("tool_not_called", wanted - made), *_each("needless_tool", made - wanted)]


def _missing(kind: str) -> Callable[[Reason], list[Cause]]:
    return lambda reason: _each(kind, (name for name in reason.expected if name not in reason.found))


_RULES: Mapping[str, Callable[[Reason], list[Cause]]] = {
    "no_intent": lambda _: [Cause("abstention")],
    "wrong_intent": lambda reason: [Cause(WRONG, (str(reason.expected), str(reason.found)))],
    "needless_retrieval": lambda _: [Cause("over_retrieval")],
    "slots_missing": _missing("slot_not_filled"),
    "steps_missing": _missing("step_not_done"),
    "wrong_values": lambda reason: _each("wrong_value", reason.expected),
    "tools_differ": _tools,
    "rule_failed": lambda reason: [Cause("rule_failed", (reason.found["rule"],))],
    "wrong_arguments": lambda reason: _each("wrong_argument", reason.expected),
}
"""What a reason comes from, where the reason alone tells; a reason without a rule is a cause of its own."""
