"""For each kind of cause: which samples it could befall, how to say what was seen, and what to do about it.

The advice is fixed text; only what was seen has words from outside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.contracts import EvalRecord
from evalkit.report.causes import Cause
from evalkit.report.charges import Charges, Names, Rows
from evalkit.report.figures import share
from evalkit.report.wording import times

__all__ = ["Evidence", "Remedy", "remedy"]

SHOWN = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of a cause: the records that it is charged with, among `at_risk` that it could befall."""

    cause: Cause
    records: tuple[EvalRecord, ...]
    at_risk: int

    @property
    def portion(self) -> str:
        """The samples that went wrong among those that could."""
        return f"{share(len(self.records), self.at_risk)} samples"

    @property
    def labels(self) -> str:
        """The intents that it befalls most: `, most of S3 (4), S1 (2)`; empty where none has a label."""
        counts = Counter(record.intent_l2 for record in self.records if record.intent_l2)
        named = [f"{label} ({n})" for label, n in counts.most_common(SHOWN)]
        return f", most of {', '.join(named)}" if named else ""


@dataclass(frozen=True, slots=True)
class Remedy:
    """How a kind of cause is told and mended.

    `title` says what was seen, `advice` what to do. It could befall the samples that `metric` counts
    (`recall` stands for the metric of retrieval; empty: all) and in which `names` finds one of the first
    `width` words of the cause's subject, or none of them where `others`; without `names` all.
    """

    advice: str
    title: Callable[[Evidence], str]
    metric: str = ""
    names: Names | None = None
    width: int = 1
    others: bool = False

    def at_risk(self, charged: Charges, cause: Cause) -> Rows:
        """Where in the run (n,) the cause could have struck."""
        counted = charged.rows(charged.recall if self.metric == "recall" else self.metric)
        if self.names is None:
            return counted
        having = charged.having(self.names)
        hit = np.zeros(len(counted), dtype=np.bool_)
        for word in cause.subject[: self.width]:
            hit[having.get(word, [])] = True
        return counted & (~hit if self.others else hit)


def remedy(kind: str) -> Remedy:
    """The remedy of a kind of cause; a kind that nobody has written one for is told by its name."""
    return _REMEDIES.get(kind, _UNKNOWN)


def _label(record: EvalRecord) -> Iterator[str]:
    yield record.intent_l2 or ""


def _documents(record: EvalRecord) -> Iterator[str]:
    yield from record.reference_doc_ids


def _slots(record: EvalRecord) -> Iterator[str]:
    yield from (slot.name for slot in record.required_slots)


def _steps(record: EvalRecord) -> Iterator[str]:
    yield from (step.name for step in record.required_steps)


def _tools(record: EvalRecord) -> Iterator[str]:
    yield from (call.name for call in record.expected_tools or ())


def _arguments(record: EvalRecord) -> Iterator[str]:
    yield from (f"{call.name}.{name}" for call in record.expected_tools or () for name in call.arguments)


def _channels(record: EvalRecord) -> Iterator[str]:
    yield from (name for name in ("answer", "evidence") if getattr(record, f"{name}_status") != "skipped")


def _overlap(seen: Evidence) -> str:
    first, second = seen.cause.subject
    ways = Counter(record.intent_l2 for record in seen.records)
    return f"{first} and {second} are taken for each other: {ways[first]} and {ways[second]} of {times(seen.at_risk, 'sample')}"


def _broad(seen: Evidence) -> str:
    others = len({record.intent_l2 for record in seen.records})
    return (
        f"{times(others, 'other intent')} are taken for {seen.cause.subject[0]}: {seen.portion}{seen.labels}"
    )


def _never_or(never: str, sometimes: str) -> Callable[[Evidence], str]:
    """One sentence where it always went wrong, another where it went wrong at times."""

    def title(seen: Evidence) -> str:
        words = never if len(seen.records) == seen.at_risk else sometimes
        return f"{words.format(seen.cause.subject[0])}: {seen.portion}"

    return title


_DOCUMENT_ADVICE = "See whether the document is in the index at all, then how it is cut and titled."
_REMEDIES: Mapping[str, Remedy] = {
    "channel_error": Remedy(
        "Mend the service or its limits first: what did not answer cannot be right. Asking again, more "
        "slowly, tells whether load is the cause.",
        lambda seen: (
            f"the {seen.cause.subject[0]} channel failed with {seen.cause.subject[1]}: {seen.portion}"
        ),
        names=_channels,
    ),
    "intents_overlap": Remedy(
        "Sharpen both descriptions where they meet and add few-shot examples from both sides of the border; "
        "where people cannot tell them apart either, merge the intents or mend the labels.",
        _overlap,
        metric="intent_top1",
        names=_label,
        width=2,
    ),
    "intent_taken_for": Remedy(
        "Say in the description of the right intent what sets it apart, and add few-shot examples like these.",
        lambda seen: f"{seen.cause.subject[0]} is taken for {seen.cause.subject[1]}: {seen.portion}",
        metric="intent_top1",
        names=_label,
    ),
    "broad_intent": Remedy(
        "Narrow the description of this intent: say what does not belong to it.",
        _broad,
        metric="intent_top1",
        names=_label,
        others=True,
    ),
    "abstention": Remedy(
        "Lower the threshold below which no intent is given, or add examples for the intents that are missed.",
        lambda seen: f"no intent was given: {seen.portion}{seen.labels}",
        metric="intent_top1",
    ),
    "document_never_retrieved": Remedy(
        _DOCUMENT_ADVICE,
        lambda seen: f"document {seen.cause.subject[0]} is never retrieved: {seen.portion} that need it",
        metric="recall",
        names=_documents,
    ),
    "weak_retrieval": Remedy(
        "The documents are in the index, and other questions find them: look at the rewriting of the query, "
        "at synonyms, and at how many documents are kept.",
        lambda seen: (
            f"retrieval misses documents of {seen.cause.subject[0] or 'samples without intent'}: {seen.portion}"
        ),
        metric="recall",
        names=_label,
    ),
    "empty_retrieval": Remedy(
        "Nothing came back at all: look at filters, at the score threshold, and at the route of the intent.",
        lambda seen: (
            f"nothing is retrieved for {seen.cause.subject[0] or 'samples without intent'}: {seen.portion}"
        ),
        metric="recall",
        names=_label,
    ),
    "over_retrieval": Remedy(
        "Route these intents past retrieval: small talk and tasks need no documents.",
        lambda seen: f"documents are retrieved where none are needed: {seen.portion}{seen.labels}",
        metric="over_retrieval",
    ),
    "slot_not_filled": Remedy(
        "Ask for the slot, or teach the extractor the ways in which people say it.",
        _never_or("slot {} is never filled", "slot {} is not filled"),
        metric="slot_completion",
        names=_slots,
    ),
    "wrong_value": Remedy(
        "See how the value is normalised: dates, numbers, units, and what the user corrected later.",
        _never_or("slot {} never has its right value", "slot {} has not its right value"),
        metric="slot_value_accuracy",
        names=_slots,
    ),
    "step_not_done": Remedy(
        "Put the step into the instructions of the task, with what must come before it.",
        _never_or("step {} is never done in its order", "step {} is not done in its order"),
        metric="step_completion",
        names=_steps,
    ),
    "tool_not_called": Remedy(
        "Say in the tool's description when it is to be called.",
        _never_or("tool {} is never called", "tool {} is not called"),
        metric="tool_f1",
        names=_tools,
    ),
    "needless_tool": Remedy(
        "Say in the tool's description when it is not to be called.",
        lambda seen: f"tool {seen.cause.subject[0]} is called where it should not be: {seen.portion}",
        metric="tool_f1",
    ),
    "wrong_argument": Remedy(
        "Describe the argument's format and where its value comes from; validate before the call.",
        _never_or("argument {} is never right", "argument {} is wrong"),
        metric="argument_accuracy",
        names=_arguments,
    ),
    "fallback_answer": Remedy(
        "The answer says that nothing was found: hold what was retrieved against what reached the prompt.",
        lambda seen: f"the fallback answer was given: {seen.portion} that need documents{seen.labels}",
        metric="fallback_when_required",
    ),
    "empty_answer": Remedy(
        "Look for filters, token limits and streams that end early.",
        lambda seen: f"the answer is empty: {seen.portion}{seen.labels}",
    ),
}

_UNKNOWN = Remedy(
    "Look at these samples.",
    lambda seen: f"{seen.cause.kind.replace('_', ' ')}: {seen.portion}{seen.labels}",
)
