"""From failures to causes: what one change would mend together.

Each failed sample is shared out among the causes that its first reason names, in equal parts, so that the
causes of a run add up to its failures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from evalkit.report.charges import Charges
from evalkit.report.failures import Failure
from evalkit.report.reasons import Reason

__all__ = ["Cause", "Shares", "causes"]

HUB = 3
"""An intent that takes samples of so many others, mostly of none of them, is too broad by itself."""


SPREAD = ("document_never_retrieved", "weak_retrieval", "empty_retrieval")
"""Causes that are one where they are spread evenly over many documents or intents."""


class Cause(NamedTuple):
    """What went wrong: a stable `kind`, and what it went wrong with: labels, documents, slots, tools."""

    kind: str
    subject: tuple[str, ...] = ()


Shares: TypeAlias = "Mapping[Cause, dict[int, float]]"
"""For each cause the rows that it is charged with, and how much of each: the parts of a row add up to 1."""


def causes(charged: Charges) -> Shares:
    """The causes of all failures of a run."""
    facts = _facts(charged)
    shares: defaultdict[Cause, dict[int, float]] = defaultdict(dict)
    for row, failure in charged.failed.items():
        found = dict.fromkeys(_causes(failure, facts)) or {Cause(failure.reasons[0].kind): None}
        for cause in found:
            shares[cause][row] = 1 / len(found)
    for kind in SPREAD:
        _merge(shares, kind)
    return shares


def _merge(shares: dict[Cause, dict[int, float]], kind: str) -> None:
    """Make one cause of those of that kind where they are many and none stands out: they come from one place."""
    mine = sorted(
        (cause for cause in shares if cause.kind == kind), key=lambda cause: (-len(shares[cause]), cause)
    )
    sizes = [len(shares[cause]) for cause in mine]
    if len(mine) < HUB or HUB * max(sizes) > sum(sizes):
        return
    rows: defaultdict[int, float] = defaultdict(float)
    for cause in mine:
        for row, share in shares.pop(cause).items():
            rows[row] += share
    shares[Cause(kind, tuple(cause.subject[0] for cause in mine))] = dict(rows)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What only the whole run tells: documents that no sample got, intents that go wrong both ways or swallow others."""

    never: frozenset[str]
    mutual: frozenset[tuple[str, str]]
    hubs: frozenset[str]


def _facts(charged: Charges) -> _Facts:
    ways = Counter(
        (str(failure.reasons[0].expected), str(failure.reasons[0].found))
        for failure in charged.failed.values()
        if failure.reasons[0].kind == "wrong_intent"
    )
    mutual = frozenset((gold, given) for gold, given in ways if (given, gold) in ways)
    return _Facts(_never(charged), mutual, _hubs(ways))


def _never(charged: Charges) -> frozenset[str]:
    """The documents that samples need and that no sample of the run got at any rank."""
    counts = charged.counted.get(charged.recall, ())
    wanted = {
        doc
        for record, yes in zip(charged.records, counts, strict=False)
        if yes
        for doc in record.reference_doc_ids
    }
    got = {doc for record in charged.records for doc in record.retrieved_doc_ids or ()}
    return frozenset(wanted - got)


def _hubs(ways: Mapping[tuple[str, str], int]) -> frozenset[str]:
    taken: defaultdict[str, list[int]] = defaultdict(list)
    for (_, given), n in ways.items():
        taken[given].append(n)
    return frozenset(given for given, n in taken.items() if len(n) >= HUB and 2 * max(n) <= sum(n))


def _causes(failure: Failure, facts: _Facts) -> Iterable[Cause]:
    reason = failure.reasons[0]
    if reason.gate == "channel":
        return [Cause("channel_error", (reason.kind.partition("_")[0], str(reason.found)))]
    if reason.kind == "wrong_intent":
        return [_intent(reason, facts)]
    if reason.gate == "retrieval" and reason.kind != "needless_retrieval":
        return _retrieval(failure, facts)
    rule = _RULES.get(reason.kind)
    return rule(reason) if rule else ()


def _intent(reason: Reason, facts: _Facts) -> Cause:
    gold, given = str(reason.expected), str(reason.found)
    if given in facts.hubs:
        return Cause("broad_intent", (given,))
    if (gold, given) in facts.mutual:
        return Cause("intents_overlap", (min(gold, given), max(gold, given)))
    return Cause("intent_taken_for", (gold, given))


def _retrieval(failure: Failure, facts: _Facts) -> list[Cause]:
    reason, label = failure.reasons[0], failure.record.intent_l2 or ""
    if reason.kind == "nothing_retrieved":
        return [Cause("empty_retrieval", (label,))]
    never = [Cause("document_never_retrieved", (doc,)) for doc in reason.expected if doc in facts.never]
    return never or [Cause("weak_retrieval", (label,))]


def _each(kind: str, names: Iterable[str]) -> list[Cause]:
    return [Cause(kind, (name,)) for name in names]


def _tools(reason: Reason) -> list[Cause]:
    wanted, made = Counter(reason.expected), Counter(reason.found)
    return [*_each("tool_not_called", wanted - made), *_each("needless_tool", made - wanted)]


def _missing(kind: str) -> Callable[[Reason], list[Cause]]:
    return lambda reason: _each(kind, (name for name in reason.expected if name not in reason.found))


_RULES: Mapping[str, Callable[[Reason], list[Cause]]] = {
    "no_intent": lambda _: [Cause("abstention")],
    "needless_retrieval": lambda _: [Cause("over_retrieval")],
    "slots_missing": _missing("slot_not_filled"),
    "steps_missing": _missing("step_not_done"),
    "wrong_values": lambda reason: _each("wrong_value", reason.expected),
    "tools_differ": _tools,
    "rule_failed": lambda reason: [Cause("rule_failed", (reason.found["rule"],))],
    "wrong_arguments": lambda reason: _each("wrong_argument", reason.expected),
}
"""What a reason comes from, where the reason alone tells; a reason without a rule is a cause of its own."""
