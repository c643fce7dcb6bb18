"""For each kind of cause: which samples it could befall, what to say, and what to do about it.

The advice is fixed text; only what was seen has words from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evalkit.contracts import EvalRecord
from evalkit.report.causes import Cause
from evalkit.report.charges import Charges, Names, Rows
from evalkit.report.evidence import Evidence, broad, never_or, never_retrieved, of_intents, overlap, simply

__all__ = ["Remedy", "remedy"]


@dataclass(frozen=True, slots=True)
class Remedy:
    """How a kind of cause is told and mended.

    `title` says what was seen, `advice` what to do. It could befall the samples that `metric` counts
    (`recall` stands for the metric of retrieval; empty: all) and in which `names` finds one of the words of the
    cause's subject (only its first where `only_first`), or none where `others`; without `names`, and where a cause is
    spread over many subjects (`spread`), all.
    """

    advice: str
    title: Callable[[Evidence], str]
    metric: str = ""
    names: Names | None = None
    only_first: bool = False
    others: bool = False
    spread: bool = False

    def at_risk(self, charged: Charges, cause: Cause) -> Rows:
        """Where in the run (n,) the cause could have struck."""
        counted = charged.rows(charged.recall if self.metric == "recall" else self.metric)
        if self.names is None or (self.spread and len(cause.subject) > 1):
            return counted
        having = charged.having(self.names)
        hit = np.zeros(len(counted), dtype=np.bool_)
        for word in cause.subject[:1] if self.only_first else cause.subject:
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


def _rules(record: EvalRecord) -> Iterator[str]:
    yield from (verdict.rule for verdict in record.verdicts if verdict.passed is not None)


def _channels(record: EvalRecord) -> Iterator[str]:
    yield from (name for name in ("answer", "evidence") if getattr(record, f"{name}_status") != "skipped")


_REMEDIES: Mapping[str, Remedy] = {
    "channel_error": Remedy(
        "Mend the service or its limits first: what did not answer cannot be right. Asking again, more "
        "slowly, tells whether load is the cause.",
        simply("the {} channel failed with {}"),
        names=_channels,
        only_first=True,
    ),
    "intents_overlap": Remedy(
        "Sharpen both descriptions where they meet and add few-shot examples from both sides of the border; "
        "where people cannot tell them apart either, merge the intents or mend the labels.",
        overlap,
        metric="intent_top1",
        names=_label,
    ),
    "intent_taken_for": Remedy(
        "Say in the description of the right intent what sets it apart, and add few-shot examples like these.",
        lambda seen: f"{seen.cause.subject[0]} is taken for {seen.cause.subject[1]}: {seen.portion}",
        metric="intent_top1",
        names=_label,
        only_first=True,
    ),
    "broad_intent": Remedy(
        "Narrow the description of this intent: say what does not belong to it.",
        broad,
        metric="intent_top1",
        names=_label,
        others=True,
    ),
    "abstention": Remedy(
        "Lower the threshold below which no intent is given, or add examples for the intents that are missed.",
        simply("no intent was given"),
        metric="intent_top1",
    ),
    "document_never_retrieved": Remedy(
        "See whether the document is in the index at all, then how it is cut and titled.",
        never_retrieved,
        metric="recall",
        names=_documents,
        spread=True,
    ),
    "weak_retrieval": Remedy(
        "The documents are in the index, and other questions find them: look at the rewriting of the query, "
        "at synonyms, and at how many documents are kept.",
        of_intents("retrieval misses documents of"),
        metric="recall",
        names=_label,
        spread=True,
    ),
    "empty_retrieval": Remedy(
        "Nothing came back at all: look at filters, at the score threshold, and at the route of the intent.",
        of_intents("nothing is retrieved for"),
        metric="recall",
        names=_label,
        spread=True,
    ),
    "over_retrieval": Remedy(
        "Route these intents past retrieval: small talk and tasks need no documents.",
        simply("documents are retrieved where none are needed"),
        metric="over_retrieval",
    ),
    "slot_not_filled": Remedy(
        "Ask for the slot, or teach the extractor the ways in which people say it.",
        never_or("slot {} is never filled", "slot {} is not filled"),
        metric="slot_completion",
        names=_slots,
    ),
    "wrong_value": Remedy(
        "See how the value is normalised: dates, numbers, units, and what the user corrected later.",
        never_or("slot {} never has its right value", "slot {} has not its right value"),
        metric="slot_value_accuracy",
        names=_slots,
    ),
    "step_not_done": Remedy(
        "Put the step into the instructions of the task, with what must come before it.",
        never_or("step {} is never done in its order", "step {} is not done in its order"),
        metric="step_completion",
        names=_steps,
    ),
    "tool_not_called": Remedy(
        "Say in the tool's description when it is to be called.",
        never_or("tool {} is never called", "tool {} is not called"),
        metric="tool_f1",
        names=_tools,
    ),
    "needless_tool": Remedy(
        "Say in the tool's description when it is not to be called.",
        simply("tool {} is called where it should not be"),
        metric="tool_f1",
    ),
    "wrong_argument": Remedy(
        "Describe the argument's format and where its value comes from; validate before the call.",
        never_or("argument {} is never right", "argument {} is wrong"),
        metric="argument_accuracy",
        names=_arguments,
    ),
    "fallback_answer": Remedy(
        "The answer says that nothing was found: hold what was retrieved against what reached the prompt.",
        simply("the fallback answer was given though documents were needed"),
        metric="fallback_when_required",
    ),
    "rule_failed": Remedy(
        "Read a few of these answers beside the rule: mend the answer where the rule is right, else the rule.",
        simply("the rule {} does not hold"),
        names=_rules,
    ),
    "rules_too_low": Remedy(
        "Each rule holds and their weighed score is too low: look at which of them score least, and at the "
        "threshold.",
        simply("the rules together score under their threshold"),
    ),
    "empty_answer": Remedy(
        "Look for filters, token limits and streams that end early.",
        simply("the answer is empty"),
    ),
}

_UNKNOWN = Remedy(
    "Look at these samples.",
    lambda seen: f"{seen.cause.kind.replace('_', ' ')}: {seen.portion}{seen.labels}",
)
